"""A tool server behind OAuth on loopback: the SDK's own authorization server and its streamable HTTP or SSE server."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl


class _Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Grants every request at once, unless the file `refuses` is in the folder. Each request is a line of `log`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokens: dict[str, AccessToken] = {}
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._refreshing: dict[str, RefreshToken] = {}

    def _forget_revoked(self) -> None:
        if (revoked := self._folder / "revoked").exists():
            revoked.unlink()
            self._tokens.clear()

    def _note(self, words: str) -> None:
        with (self._folder / "log").open("a", encoding="utf-8") as log:
            log.write(f"{words}\n")

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self._note(f"registered {client_info.client_name}")
        assert client_info.client_id
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self._note("asked")
        if (self._folder / "refuses").exists():
            return f"{params.redirect_uri}?error=access_denied&state={params.state}"
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self._codes[code.code] = code
        return f"{params.redirect_uri}?code={code.code}&state={params.state}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self._note("granted")
        del self._codes[authorization_code.code]
        return self._granted(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self._refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self._note("refreshed")
        return self._granted(client, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        self._forget_revoked()
        return self._tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self._tokens.pop(token.token, None)

    def _granted(self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None) -> OAuthToken:
        self._forget_revoked()
        token, refresh, name = secrets.token_hex(16), secrets.token_hex(16), client.client_id or ""
        self._tokens[token] = AccessToken(token=token, client_id=name, scopes=scopes, resource=resource)
        self._refreshing[refresh] = RefreshToken(token=refresh, client_id=name, scopes=scopes, resource=resource)
        return OAuthToken(access_token=token, expires_in=3600, refresh_token=refresh)


def _serve(folder: Path, kind: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    here = f"http://127.0.0.1:{listener.getsockname()[1]}"
    url = f"{here}/{'sse' if kind == 'sse' else 'mcp'}"
    rules = AuthSettings(
        issuer_url=AnyHttpUrl(here),
        resource_server_url=AnyHttpUrl(url),
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(enabled=True),
    )
    made = MCPServer("signed", auth_server_provider=_Provider(folder), auth=rules, log_level="CRITICAL")

    @made.tool()
    def act() -> str:
        return "signed in and done"

    app = made.sse_app() if kind == "sse" else made.streamable_http_app()
    print(url, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[listener])


class Accounts:
    """The accounts of a running server, in a folder that it watches."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def log(self) -> list[str]:
        """What was asked of it, in order."""
        file = self._folder / "log"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def refuse(self) -> None:
        """Grant nothing from now on."""
        (self._folder / "refuses").touch()

    def revoke(self) -> None:
        """Let no access token count that was granted until now."""
        (self._folder / "revoked").touch()


@contextmanager
def serve_signed(folder: Path, kind: str = "http") -> Iterator[tuple[str, Accounts]]:
    """Serve from a process of its own. Yield the address and the accounts."""
    argv = [sys.executable, "-m", __name__, str(folder), kind]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), Accounts(folder)
        finally:
            process.kill()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
