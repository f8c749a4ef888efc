"""The driver of `make chaos`: runs of all kinds, clients that use them, and faults in between."""
