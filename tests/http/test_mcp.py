"""The MCP server over streamable HTTP: the same tools, the same answers, the same rules of who asks."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from recalld import Memory, register_all_tools
from tests.http.service import Service
from tests.patience import PATIENCE_S

LINES = "2026-02-15|web-chat|护照在保险柜里\n2026-02-15|web-chat|钥匙在信箱里 #shared\n"


def asked(service: Service, what: Any, address: str = "") -> Any:
    """What *what* returns for a client of the SDK at /mcp."""

    async def main() -> Any:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {service.token}"}, timeout=PATIENCE_S) as line:
            transport = streamable_http_client(f"{service.url}/mcp{address}", http_client=line)
            async with Client(transport) as client:
                return await what(client)

    return anyio.run(main)


def test_mcp_offers_the_tools_of_the_command(service: Service):
    found = asked(service, lambda client: client.list_tools())
    ours = register_all_tools(Memory(service.world.ws), language="en")
    assert [tool.name for tool in found.tools] == list(ours.names)


def test_mcp_shows_a_group_what_it_may_see(service: Service):
    service.world.put("memory.md", LINES)
    service.world.settle()
    found = asked(service, lambda client: client.call_tool("memory_read", {}), "?session=telegram:group:x&chat=group")
    assert "保险柜" not in found.content[0].text
    assert "信箱" in found.content[0].text


@pytest.mark.parametrize(("address", "field"), [("chat=party", "chat"), ("read_only=yes", "read_only"), ("tools=all", "tools")])
def test_mcp_refuses_an_address_that_says_something_else(unchanged: Service, address, field):
    assert unchanged.problem(400, "POST", f"/mcp?{address}", {})["field"] == field


def test_mcp_refuses_another_host_with_421_and_another_origin_with_403(service: Service):
    lines = "POST /mcp HTTP/1.1\r\nHost: evil.com\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    assert service.raw(lines.encode()).status == 421
    service.problem(403, "POST", "/mcp", {}, Origin="http://evil.com")
    with service.stranger() as client:
        assert client.post("/mcp", json={}).status_code == 401
