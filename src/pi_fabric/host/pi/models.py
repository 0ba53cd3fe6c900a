"""Lists the models that Pi could talk to."""

from collections.abc import Sequence

from pi_fabric.base.jsonvalue import JsonObject, is_array, is_object
from pi_fabric.host.pi.rpc import Peer


class PiModels:
    """A `ModelsPort` on Pi's model registry."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def list(self) -> Sequence[JsonObject]:
        """Shape of each: `{provider, id, name, key}`; models without credentials are left out."""
        answer = await self._peer.request("host.models", {})
        models = answer if is_array(answer) else []
        return [
            {
                "provider": model.get("provider"),
                "id": model.get("id"),
                "name": model.get("name"),
                "key": f"{model.get('provider')}/{model.get('id')}",
            }
            for model in models
            if is_object(model)
        ]
