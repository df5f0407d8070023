"""The pool over TLS, as between machines: a real redis-server with a certificate of its own, and the user of the how-to page."""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from recalld.supervisor.pool import scripts
from recalld.supervisor.pool.cargo import Cargo, PoolAway
from recalld.supervisor.pool.redis_pool import Broker, RedisPool
from tests.pool.redis_server import PROGRAM, RedisServer

ROOT = Path(__file__).resolve().parent.parent.parent
#: The line of the page that makes the user, with a password of the test.
USER = re.search(r"^user pool .*$", (ROOT / "docs/how-to/a-pool-of-workers.md").read_text(encoding="utf-8"), re.MULTILINE)


def knows_tls() -> bool:
    """Whether the redis-server of this machine was built with TLS."""
    return (
        PROGRAM is not None and "libssl" in subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=False).stdout
    )


pytestmark = [pytest.mark.proof, pytest.mark.skipif(not knows_tls(), reason="needs a redis-server with TLS")]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that speaks TLS alone, and has the user of the page alone."""
    folder = tmp_path_factory.mktemp("tls")
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redis.example")])
    there = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(7)
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1)).add_extension(there, False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    (folder / "ca.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(*form))
    files = f"tls-cert-file {folder}/ca.pem", f"tls-key-file {folder}/key.pem", f"tls-ca-cert-file {folder}/ca.pem"
    assert USER
    with RedisServer(folder, *files, "tls-auth-clients no", "user default off", USER[0]) as server:
        yield server


def address(server: RedisServer, user: str = "pool:a-long-password", query: str | None = None) -> str:
    more = f"?ssl_ca_certs={server.folder}/ca.pem" if query is None else query
    return f"rediss://{user}@127.0.0.1:{server.port}/0{more}"


def test_pool_works_over_tls_with_the_user_of_the_page(tls: RedisServer) -> None:
    broker = Broker(address(tls), "recalld")
    assert list(broker.unfit()) == []
    pool = RedisPool(broker, "甲")
    assert pool.offer(Cargo("w.day-1", b"sealed")) == "new"
    assert broker.run(scripts.BEGIN, "one") == [b"w.day-1", "甲".encode(), b"sealed", 1]
    assert broker.run(scripts.DELIVER, "w.day-1", "one", "甲", b"\x01done") == 1
    assert [one.sealed for one in pool.take()] == [b"\x01done"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda server: address(server, query=""), "certificate verify failed"),
        (lambda server: address(server, user="pool:wrong"), "invalid username-password"),
        (lambda server: address(server, query="").replace("rediss:", "redis:"), "Connection"),
    ],
    ids=["unknown certificate", "wrong password", "without TLS"],
)
def test_broker_says_what_to_do_about_tls(tls: RedisServer, asked, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PoolAway) as away:
        list(Broker(asked(tls), "recalld").unfit())
    assert says in str(away.value)


@pytest.mark.parametrize("command", ["flushall", "config_get"])
def test_user_of_the_page_may_not_do_more(tls: RedisServer, command: str) -> None:
    with pytest.raises(PoolAway):
        Broker(address(tls), "recalld").call(command)
