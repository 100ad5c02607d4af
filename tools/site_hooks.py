"""Hooks of mkdocs for `make docs`: what the sources need and the site has otherwise.

In the sources a page links to the page in the other language. The site has a menu for that, and
finds the page of its language by the English name; so Chinese pages have the anchors of the English
ones, too. Pictures in two themes are HTML in the sources; in the site they are images, whose files
mkdocs looks for.
"""

import re
import sys
from pathlib import Path

from pymdownx.slugs import slugify

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pages  # noqa: E402

OTHER_LANGUAGE = re.compile(r"^\[(?:中文|English)\]\([\w.-]+\.md\)$\n?", re.MULTILINE)
CHINESE = re.compile(r"(\]\([\w./-]+)\.zh\.md([#)])")
PICTURE = re.compile(
    r'<picture>\s*<source[^>]* srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)


def with_english_anchors(text, english):
    """A Chinese text with the anchor of the English heading behind each of its headings."""
    slug = slugify(case="lower")
    both = list(zip(pages.sections(text), pages.sections(english), strict=True))
    for ours, theirs in reversed(both):
        anchor = f'\n\n<a id="{slug(theirs.title, "-")}"></a>\n'
        text = text[: ours.begin] + anchor + text[ours.begin :]
    return text


def on_page_markdown(markdown, page, **_):
    """The text of a page as the site has it."""
    text = markdown
    path = page.file.abs_src_path
    if path.endswith(".zh.md"):
        english = Path(path.replace(".zh.md", ".md")).read_text(encoding="utf-8")
        text = with_english_anchors(text, english)
    text = CHINESE.sub(r"\1.md\2", OTHER_LANGUAGE.sub("", text))
    return PICTURE.sub(r"![\2](\3#only-light)![\2](\1#only-dark)", text)
