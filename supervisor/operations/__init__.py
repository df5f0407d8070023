"""Every act that a person or a program can ask of a workspace, once: a typed request in, a typed answer out."""
