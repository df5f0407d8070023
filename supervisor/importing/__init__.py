"""Brings conversations that other programs have kept into a workspace: their own logs, and the exports of chats."""
