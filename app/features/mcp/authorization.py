"""Sign in to a server by OAuth: the SDK's flow, the browser's answer, and the tokens granted. Used in the worker.

Wisp itself saves the tokens and opens the browser, because the worker has neither the keyring nor the desktop. If the
person may not be asked, a server that wants a sign-in is refused at once.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyUrl

from app.base.clipping import clip_line
from app.base.signs import plain

SIGNING_IN = "wisp_signing_in"
"""Marks the requests of a sign-in, which may go to another host than the server's own."""
ANSWER_S = 300.0
"""How long the person has for the page in the browser."""
_UNAUTHORIZED = 401
_REASON_CHARS = 200
_HEAD_BYTES = 16_384
_PATH = "/callback"
_PAGE = "<!doctype html><meta charset=utf-8><title>Wisp</title><p style='font:1.2em sans-serif;margin:3em'>{}</p>"

Tell = Callable[[dict[str, Any]], None]


class SignIn(OAuthClientProvider):  # type: ignore[misc] # because the types of the SDK are not loaded
    """The sign-in to one server. `problem`: why it failed. `is_wanted`: it is needed, but nobody may be asked now.

    `told` is what Wisp passes to the worker: `record` (what was granted before), `may_ask` (the person), and the `page`
    that the browser shows at the end. `is_local`: the server is on this machine or its network.
    """

    def __init__(self, url: str, told: Mapping[str, Any], tell: Tell, *, is_local: bool) -> None:
        self._record: dict[str, Any] = dict(told["record"])
        self._told = told
        self._tell = tell
        self._is_local = is_local
        self._state = ""
        self._answered: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._socket = self._bound()
        self._server: asyncio.Server | None = None
        self.is_wanted = False
        self.problem = ""
        uri = AnyUrl(f"http://127.0.0.1:{self._socket.getsockname()[1]}{_PATH}")
        about = OAuthClientMetadata(redirect_uris=[uri], client_name="Wisp", token_endpoint_auth_method="none")
        super().__init__(url, about, self, self._show, self._wait)

    def close(self) -> None:
        """Close the port at which the browser's answer arrives."""
        self._socket.close()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the SDK's flow, and mark its own requests. It fails where the person is needed but may not be asked."""
        flow = super().async_auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                if sent is not request:
                    sent.extensions = {**request.extensions, SIGNING_IN: True}
                response = yield sent
                if sent is request and response.status_code == _UNAUTHORIZED and not self._told["may_ask"]:
                    self.is_wanted = True
                    raise OAuthFlowError("It wants a sign-in.")
                sent = await flow.asend(response)
        except StopAsyncIteration:
            return
        except Exception as error:
            self.problem = self.problem or clip_line(plain(str(error))[0], _REASON_CHARS)
            raise
        finally:
            await flow.aclose()

    async def get_tokens(self) -> OAuthToken | None:
        told = self._record.get("tokens")
        if not told:
            return None
        # The SDK remembers neither of these, and would otherwise refresh at the wrong address, or not at all.
        self.context.token_expiry_time = self._record.get("expires_at")
        if known := self._record.get("metadata"):
            self.context.oauth_metadata = OAuthMetadata.model_validate(known)
        return OAuthToken.model_validate(told)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._record["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        self._record["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in else None
        if metadata := self.context.oauth_metadata:
            self._record["metadata"] = metadata.model_dump(mode="json", exclude_none=True)
        self._tell({"event": "granted", "record": self._record})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        told = self._record.get("client")
        return OAuthClientInformationFull.model_validate(told) if told else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._record["client"] = client_info.model_dump(mode="json", exclude_none=True)

    def _bound(self) -> socket.socket:
        """Bind the port that the server knows already. If that fails, use a free one and register there again.

        If the person may not be asked, any port is used, because no answer will arrive there.
        """
        uris = self._record.get("client", {}).get("redirect_uris") or [""]
        bound = socket.socket()
        if os.name == "posix":  # Otherwise the port stays taken for a minute after each answer.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", (urlsplit(str(uris[0])).port or 0) if self._told["may_ask"] else 0))
        except (OSError, ValueError, OverflowError):
            self._record.pop("client", None)
            bound.bind(("127.0.0.1", 0))
        return bound

    async def _show(self, url: str) -> None:
        place = urlsplit(url)
        is_here = self._is_local and place.hostname in ("127.0.0.1", "localhost", "::1")
        if place.scheme != "https" and not (place.scheme == "http" and is_here):
            raise OAuthFlowError("Its sign-in page is not on https, so it was not opened.")
        self._state = parse_qs(place.query).get("state", [""])[0]
        self._answered = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._answer, sock=self._socket.dup(), limit=_HEAD_BYTES)
        self._tell({"event": "sign_in", "url": url})

    async def _wait(self) -> AuthorizationCodeResult:
        assert self._server
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._answered
        except TimeoutError:
            raise OAuthFlowError(f"Nobody signed in within {ANSWER_S:.0f} s.") from None
        finally:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive the browser's answer. Any page can call this address, so only one with the secret state counts."""
        line = b""
        with suppress(ValueError, asyncio.IncompleteReadError, ConnectionError):
            line = await reader.readline()
        words = line.decode("latin-1").split(" ")
        place = urlsplit(words[1] if len(words) > 1 else "")
        given = {name: values[0] for name, values in parse_qs(place.query).items()}
        is_ours = place.path == _PATH and secrets.compare_digest(given.get("state", "").encode(), self._state.encode())
        body = _PAGE.format(html.escape(str(self._told["page"]))).encode() if is_ours else b""
        head = f"HTTP/1.1 {'200 OK' if is_ours else '404 Not Found'}\r\nContent-Type: text/html; charset=utf-8\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()
        if is_ours and not self._answered.done():
            self._settle(given)

    def _settle(self, given: Mapping[str, str]) -> None:
        if code := given.get("code"):
            self._answered.set_result(AuthorizationCodeResult(code=code, state=given["state"], iss=given.get("iss")))
        else:
            why = given.get("error_description") or given.get("error") or "no reason was given"
            self._answered.set_exception(OAuthFlowError(f"The sign-in was refused: {json.dumps(why)}"))
