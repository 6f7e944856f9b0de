"""Groups and their offsets, as a cluster's coordinators tell and change them."""
