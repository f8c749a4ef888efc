"""The soak: steady load on one server, and nothing may grow. Run as `python3 -m soak`, or `make soak`."""
