"""HTTP next to the socket, while `[serve] port` is set: REST, the proxy, and what the page is mounted on."""
