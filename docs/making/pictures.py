"""The sizes of the pictures, read from their files."""

import re
import struct
from pathlib import Path


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG or SVG file, in pixels."""
    data = path.read_bytes()
    if path.suffix == ".png":
        return struct.unpack(">II", data[16:24])
    found = re.search(rb'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', data)
    if not found:
        raise ValueError(f"{path} has no viewBox")
    return round(float(found[1])), round(float(found[2]))


def with_sizes(html: str, *folders: Path) -> str:
    """Return the same page, with width and height on every picture of these folders."""

    def sized(match: re.Match[str]) -> str:
        sources = [folder / match[1].rpartition("/")[2] for folder in folders]
        source = next(filter(Path.exists, sources), None)
        if " width=" in match[0] or source is None:
            return match[0]
        width, height = size(source)
        return match[0].replace("<img", f'<img width="{width}" height="{height}" loading="lazy"', 1)

    return re.sub(r'<img[^>]*src="([^"]+)"[^>]*>', sized, html)
