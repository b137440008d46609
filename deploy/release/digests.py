"""Prints an override for a compose file that names the images of others by the digests that their tags have now.

digests.py FILE >digests.json; then: docker compose --file FILE --file digests.json up --detach
"""

import json
import subprocess
import sys


def main() -> None:
    """Ask docker compose for the services and the registries, through buildx, for the digests."""
    command = ["compose", "--file", sys.argv[1], "--profile", "*", "config", "--format", "json"]
    images = {name: service["image"] for name, service in json.loads(_docker(*command))["services"].items()}
    # Our own are built from this repository.
    others = {name: image for name, image in images.items() if "/" in image}
    services = {name: {"image": f"{image}@{_digest(image)}"} for name, image in others.items()}
    print(json.dumps({"services": services}, indent=2))


def _digest(image: str) -> str:
    digest = _docker("buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}").strip()
    if not digest.startswith("sha256:"):
        sys.exit(f"{image}: expected a digest, not {digest!r}")
    return digest


def _docker(*words: str) -> str:
    return subprocess.run(["docker", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
