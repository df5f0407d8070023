"""What a new user does, three times, through the installed command: a developer, a Chinese user, an operator."""
