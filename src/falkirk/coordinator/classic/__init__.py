"""Groups of the classic protocol: the members' leader assigns, the coordinator elects it and passes on what it says."""
