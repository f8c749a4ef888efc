"""Old runs are removed all the time during a soak, and it is seen that the right ones are."""
