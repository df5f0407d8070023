"""
The page: what a memory holds, and how it is, in a browser.

`routes` returns its addresses for the application of `interfaces/http`, `problem` the page of an error. Every page is whole
without scripts; htmx and two scripts of our own make it live. Nothing comes from the network, and no stored word is markup.
"""

from __future__ import annotations

from .routes import problem, routes

__all__ = ["problem", "routes"]
