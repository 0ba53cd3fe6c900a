"""Sandbox engines by the name that `executor.runtime` uses; resolved on first use."""

ENGINES: dict[str, str] = {
    "quickjs": "pi_fabric.runtime.engines.quickjs:QuickJsEngine",
}
