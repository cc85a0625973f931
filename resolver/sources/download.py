"""Downloads over https with bounds: redirects that stay on https, no credentials in a URL, bytes counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ...capabilities.errors import GsdlockError, missing, refused, shown

if TYPE_CHECKING:
    import urllib.request

_CHUNK = 1 << 16
_IDLE_SECONDS = 30.0
_TOTAL_SECONDS = 600.0
_MAX_REDIRECTS = 5


class HttpDownloader:
    """The real `Downloader`. Proxies are taken from the given variables (`https_proxy`, `no_proxy`)."""

    def get(self, url: str, limit: int, variables: Mapping[str, str]) -> bytes:
        """See `Downloader.get`."""
        import http.client
        import time
        import urllib.error

        check_url(url)
        deadline = time.monotonic() + _TOTAL_SECONDS
        try:
            with _opener(url, variables).open(_request(url), timeout=_IDLE_SECONDS) as response:
                claimed = response.headers.get("Content-Length", "")
                if claimed.isdecimal() and int(claimed) > limit:
                    raise _too_large(url, limit)
                body = bytearray()
                while part := response.read(_CHUNK):
                    body += part
                    if len(body) > limit:
                        raise _too_large(url, limit)
                    if time.monotonic() > deadline:
                        raise _failed(url, f"it took longer than {_TOTAL_SECONDS:g} seconds")
                if claimed.isdecimal() and int(claimed) != len(body):
                    raise _failed(url, "the connection ended early")
                return bytes(body)
        except urllib.error.HTTPError as error:
            raise _failed(url, f"the server answered {error.code}") from None
        except urllib.error.URLError as error:
            raise _failed(url, str(error.reason)) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _failed(url, str(error) or type(error).__name__) from None


def check_url(url: str) -> SplitResult:
    """The parts of a URL that may be downloaded: https, or http on this machine's loopback address.

    Raises E-DOWNLOAD-URL, also where the URL holds credentials: the lock is committed, and would tell them.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise _bad_url(url, "is not a URL") from None
    if any(ord(c) <= 0x20 or ord(c) == 0x7F for c in url):
        raise _bad_url(url, "holds a space or a control character")
    if parts.username is not None or parts.password is not None:
        raise _bad_url(f"{parts.scheme}://…@{host}", "holds credentials")
    if not host:
        raise _bad_url(url, "names no host")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise _bad_url(url, "is not https")
    return parts


def is_loopback(host: str) -> bool:
    """Whether `host` is `localhost` or a literal loopback address."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _request(url: str) -> urllib.request.Request:
    import urllib.request

    headers = {"User-Agent": "gsdlock", "Accept": "*/*", "Accept-Encoding": "identity"}
    return urllib.request.Request(url, headers=headers)


def _opener(url: str, variables: Mapping[str, str]) -> urllib.request.OpenerDirector:
    import ssl
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        """Follows a redirect as far as its target could have been asked for itself, and never from https to
        http."""

        max_redirections = _MAX_REDIRECTS
        max_repeats = _MAX_REDIRECTS

        def redirect_request(
            self, req: urllib.request.Request, fp: object, code: int, msg: str, headers: object, newurl: str
        ) -> urllib.request.Request | None:
            """The request for where a redirect leads. Raises E-DOWNLOAD-URL where that may not be asked."""
            parts = check_url(newurl)
            if urlsplit(req.full_url).scheme == "https" and parts.scheme != "https":
                raise _bad_url(newurl, "is not https")
            return _request(newurl)

    # Handlers are named one by one: the default opener would also speak ftp:, file: and data:.
    opener = urllib.request.OpenerDirector()
    context = ssl.create_default_context(cafile=variables.get("SSL_CERT_FILE") or None)
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
        Redirects(),
    ):
        opener.add_handler(handler)
    proxy = _proxy(url, variables)
    if proxy:
        opener.add_handler(urllib.request.ProxyHandler({"https": proxy}))
    return opener


def _proxy(url: str, variables: Mapping[str, str]) -> str:
    """The proxy for `url`; none for loopback and for hosts that `no_proxy` lists by name or suffix."""
    host = (urlsplit(url).hostname or "").lower()
    lowered = {k.lower(): v for k, v in variables.items()}
    excluded = [e.strip().lstrip(".").lower() for e in lowered.get("no_proxy", "").split(",")]
    if is_loopback(host) or "*" in excluded:
        return ""
    if any(e and (host == e or host.endswith("." + e)) for e in excluded):
        return ""
    return lowered.get("https_proxy", "")


def _bad_url(url: str, how: str) -> GsdlockError:
    return refused(
        "E-DOWNLOAD-URL",
        f"{shown(url, 200)} {how}, so it is not downloaded",
        "Use an https URL without a user name or token in it.",
        where=shown(url, 400),
    )


def _too_large(url: str, limit: int) -> GsdlockError:
    return refused(
        "E-DOWNLOAD-SIZE",
        f"{shown(url, 200)} is larger than {limit} bytes",
        "Use a smaller archive, or a git source with a subdirectory.",
        where=shown(url, 400),
    )


def _failed(url: str, reason: str) -> GsdlockError:
    return missing(
        "E-DOWNLOAD-FAILED",
        f"{shown(url, 200)} cannot be downloaded: {shown(reason, 200)}",
        "Look at the URL and the network, then try again.",
        where=shown(url, 400),
    )
