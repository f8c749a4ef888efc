"""How Python starts skillrun: a folder of its own, skills that play scripts, a server, an HTTP client, processes."""
