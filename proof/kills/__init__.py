"""A workflow of ten steps whose owner is killed at every event of its Log."""
