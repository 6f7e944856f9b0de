"""What MkDocs calls while it makes the site: the order of pages, and the documents beside docs/.

A folder's pages follow the links of its README. ARCHITECTURE.md and its like become pages of their own.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Runbooks": "runbooks",
    "Reference": "reference",
    "Concepts": "concepts",
    "Internals": "internals",
    "Decisions": "decisions",
}
# Documents that stand where a clone's readers and hosts look for them.
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")


def on_config(config: Any) -> Any:  # Any: MkDocs's own
    docs = Path(config.docs_dir)
    nav: list[Any] = ["README.md"]
    nav += [{title: pages_of(docs, folder)} for title, folder in FOLDERS.items()]
    nav.append({"Project": [f"project/{name}" for name in BESIDE]})
    config.nav = nav
    return config


def pages_of(docs: Path, folder: str) -> list[str]:
    readme = docs / folder / "README.md"
    linked = re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]*)?\)", readme.read_text()) if readme.exists() else []
    there = sorted(str(page.relative_to(docs)) for page in (docs / folder).rglob("*.md"))
    first = [f"{folder}/{name}" for name in dict.fromkeys(["README.md", *linked])]
    return [page for page in first if page in there] + [page for page in there if page not in first]


def on_files(files: Files, config: Any) -> Files:
    for name in BESIDE:
        text = re.sub(r"\]\(docs/", "](../", (ROOT / name).read_text())
        files.append(File.generated(config, f"project/{name}", content=text))
    worker = (ROOT / "tools" / "frame_worker.js").read_text()
    files.append(File.generated(config, "assets/iframe-worker.js", content=worker))
    return files


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    up = "../" * (page.file.src_uri.count("/") + 1)
    markdown = markdown.replace(f"]({up}README.md", f"]({up[3:]}README.md")
    return re.sub(rf"\]\({re.escape(up)}({'|'.join(map(re.escape, BESIDE))})", rf"]({up[3:]}project/\1", markdown)
