"""What several handlers share: views and routes, authorization, refusals, and the parts of their responses."""
