"""The interactive page without JavaScript: python docs/making/explore_picture.py out/docs

Chromium opens the built page, drops one reward of -10,000, plays 20 rounds more and takes a picture
of the panels and the regret for docs/images/explore.png.
"""

import base64
import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from browser import Browser  # noqa: E402

PLAY = """(() => {
  const press = (name) => document.getElementById(`explore-${name}`).click();
  press("drop");
  for (let i = 0; i < 20; i++) press("step");
  const [first, last] = ["panels", "regret"].map((name) =>
    document.getElementById(`explore-${name}`).getBoundingClientRect());
  return { x: first.x - 8, y: first.y - 8 + scrollY, width: first.width + 16,
           height: last.bottom - first.y + 16, scale: 1 };
})()"""


def take_picture(page: Path, picture: Path) -> None:
    """A picture of the panels of the page."""
    with Browser() as browser:
        browser.show(page, 1200)
        clip = browser.run(PLAY)
        made = browser.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        picture.write_bytes(base64.b64decode(made["data"]))


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]) / "explore.html", HERE / "images" / "explore.png")
