"""Sign-in by JupyterHub: a page that the hub runs as a service, or as the server of one user."""

import os
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.errors import EmbtieError

JUPYTERHUB = "jupyterhub"
_TOKENS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")


def below_hub(
    known: ServeSettings, environment: MutableMapping[str, str] = os.environ
) -> ServeSettings:
    """The settings as the hub has said them: it knows where its proxy looks for the page."""
    if known.sign_in != JUPYTERHUB:
        return known
    if not environment.get(_TOKENS[0]):
        raise EmbtieError(
            'sign_in = "jupyterhub" works only where JupyterHub has started embtie.',
            "Make it a service of the hub, as the guide to serving shows.",
        )
    said: dict[str, Any] = {"proxied": True, "open_browser": False}
    if prefix := environment.get("JUPYTERHUB_SERVICE_PREFIX"):
        said["base_url"] = prefix
    place = urlsplit(environment.get("JUPYTERHUB_SERVICE_URL", ""))
    if place.port:  # without a name it means every address
        said |= {"host": place.hostname or "0.0.0.0", "port": place.port}  # noqa: S104
    return replace(known, **said)


def hub_identity(known: ServeSettings, environment: MutableMapping[str, str] = os.environ) -> type:
    """Who is who, by the hub; its token is taken from what kernels will inherit."""
    try:
        from jupyterhub.services.auth import HubOAuth
        from jupyterhub.singleuser.extension import JupyterHubIdentityProvider
    except ImportError:
        raise EmbtieError(
            'sign_in = "jupyterhub" needs JupyterHub beside embtie.',
            "Install it with `pip install 'embtie[hub]'`.",
        ) from None

    hub = HubOAuth(base_url=known.base_url)
    hub.api_token  # noqa: B018 - read now: a moment later the variable is gone
    for name in _TOKENS:
        environment.pop(name, None)

    class HubIdentity(JupyterHubIdentityProvider):
        """Users of the hub who may open this service; the hub's token stays with `hub_auth`."""

        token = ""
        auth_enabled = True
        login_available = False

        def __init__(self, **given: Any) -> None:
            """Voila has a token and a page to sign in of its own, neither of which is asked."""
            kept = {name: given[name] for name in ("parent", "log") if name in given}
            super().__init__(**kept, hub_auth=hub)

        def get_handlers(self) -> list[Any]:
            """Where the hub sends the reader back to, and the way out, below our own path."""
            below = known.base_url.rstrip("/")
            return [(below + one[0], *one[1:]) for one in super().get_handlers()]

    return HubIdentity
