"""Every act that a person or a program can ask of a workspace, once: arguments in, a typed answer out."""
