"""Build the built-in graphs `debian` and `debian-hetero` from Debian's package index.

    apt-cache dumpavail | python scripts/build_debian.py src/dsgrl/graph

Nodes are packages, edges their declared relations, features the words of the
one-line description, labels the sections (`debian.npz`); maintainers and tags of the
same packages, in the same order, stand in `debian_hetero.npz`. The result depends on
the set of stanzas only, not on their order, and holds facts only: names, links,
sections, word indices and the word list; of maintainers the names, no addresses.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

# fmt: off
SECTIONS = (
    "games", "python", "perl", "science", "web", "net", "sound", "graphics",
    "editors", "mail", "math", "database", "electronics", "video", "java", "ruby",
    "javascript", "text", "gnome", "kde", "hamradio", "fonts", "php", "vcs",
)
# fmt: on
RELATIONS = ("Depends", "Pre-Depends", "Recommends", "Suggests")
PER_SECTION = 250
MIN_DESCRIPTIONS = 3

Stanza = dict[str, str]
# A package, another that it names, and the number of the relation.
Link = tuple[str, str, int]


def read_stanzas(lines: Iterable[str]) -> Iterator[Stanza]:
    """Yield one {field: value} per package; continuation lines are joined."""
    stanza: Stanza = {}
    field = ""
    for line in lines:
        text = line.rstrip("\n")
        if not text:
            if stanza:
                yield stanza
            stanza = {}
        elif text[0] in " \t":
            stanza[field] += text
        else:
            field, _, value = text.partition(":")
            stanza[field] = value.strip()
    if stanza:
        yield stanza


def select_candidates(stanzas: Iterable[Stanza]) -> dict[str, Stanza]:
    """Keep one stanza per package of the chosen sections, whatever the order."""
    kept: dict[str, Stanza] = {}
    for stanza in stanzas:
        name = stanza["Package"]
        if stanza.get("Section") not in SECTIONS:
            continue
        if name not in kept or sorted(stanza.items()) < sorted(kept[name].items()):
            kept[name] = stanza
    return dict(sorted(kept.items()))


def find_links(packages: dict[str, Stanza]) -> list[Link]:
    """Return (package, named package, relation), alternatives included."""
    links = set()
    for name, stanza in packages.items():
        for kind, relation in enumerate(RELATIONS):
            for entry in re.split(r"[,|]", stanza.get(relation, "")):
                other = re.split(r"[\s(:\[]", entry.strip(), maxsplit=1)[0]
                if other in packages and other != name:
                    links.add((name, other, kind))
    return sorted(links)


def pick_best_connected(packages: dict[str, Stanza], links: list[Link]) -> list[str]:
    """Return the names of each section's best connected packages, sorted."""
    pairs = {tuple(sorted((a, b))) for a, b, _ in links}
    degree = Counter(name for pair in pairs for name in pair)
    chosen: list[str] = []
    for section in SECTIONS:
        members = [n for n, s in packages.items() if s["Section"] == section]
        members.sort(key=lambda n: (-degree[n], n))
        chosen += members[:PER_SECTION]
    return sorted(chosen)


def words_of(description: str) -> list[str]:
    """Split a description into lower-case words of two or more characters."""
    return sorted(set(re.findall(r"[a-z0-9][a-z0-9+#]+", description.lower())))


def choose(lines: Iterable[str]) -> tuple[dict[str, Stanza], list[Link]]:
    """Return the chosen packages by name, sorted, and the links among them."""
    candidates = select_candidates(read_stanzas(lines))
    links = find_links(candidates)
    names = pick_best_connected(candidates, links)
    packages = {name: candidates[name] for name in names}
    return packages, [link for link in links if {*link[:2]} <= packages.keys()]


def build(packages: dict[str, Stanza], links: list[Link]) -> dict[str, np.ndarray]:
    """Return the arrays of `debian.npz`."""
    names = list(packages)
    index = {name: i for i, name in enumerate(names)}
    edges = [(index[a], index[b], kind) for a, b, kind in links]
    described = [words_of(packages[n].get("Description", "")) for n in names]
    count = Counter(word for words in described for word in words)
    vocabulary = sorted(w for w, c in count.items() if c >= MIN_DESCRIPTIONS)
    position = {word: i for i, word in enumerate(vocabulary)}
    rows = [[position[w] for w in words if w in position] for words in described]
    return {
        "names": as_text(names),
        "sections": as_text(SECTIONS),
        "relations": as_text(RELATIONS),
        "words": as_text(vocabulary),
        "source": np.array([e[0] for e in edges], dtype=np.uint16),
        "target": np.array([e[1] for e in edges], dtype=np.uint16),
        "relation": np.array([e[2] for e in edges], dtype=np.uint8),
        "section": np.array(
            [SECTIONS.index(packages[n]["Section"]) for n in names], dtype=np.uint8
        ),
        "word_offsets": np.cumsum([0] + [len(r) for r in rows]).astype(np.uint32),
        "word_indices": np.array([i for r in rows for i in r], dtype=np.uint16),
    }


def build_hetero(packages: dict[str, Stanza]) -> dict[str, np.ndarray]:
    """Return the arrays of `debian_hetero.npz`: (package, maintainer or tag) pairs."""
    maintainers = [maintainers_of(s.get("Maintainer", "")) for s in packages.values()]
    tags = [tags_of(s.get("Tag", "")) for s in packages.values()]
    arrays = {}
    for kind, relation, named in (
        ("maintainers", "maintained_by", maintainers),
        ("tags", "tagged", tags),
    ):
        every = sorted({name for names in named for name in names})
        index = {name: i for i, name in enumerate(every)}
        pairs = [(i, index[name]) for i, names in enumerate(named) for name in names]
        arrays[kind] = as_text(every)
        arrays[relation] = np.array(pairs, dtype=np.uint16).reshape(-1, 2).T
    return arrays


def maintainers_of(field: str) -> list[str]:
    """Return the names in 'Name <address>, Name <address>', without the addresses."""
    names = re.findall(r"([^<>]+)<[^<>]*>", field)
    return sorted({name.strip(' ,"') for name in names if "@" not in name} - {""})


def tags_of(field: str) -> list[str]:
    """Return the tags of a list parted by commas."""
    return sorted({tag.strip() for tag in field.split(",")} - {""})


def as_text(items: Iterable[str]) -> np.ndarray:
    """Join names into one byte array: smaller than an array of strings."""
    return np.frombuffer("\n".join(items).encode(), dtype=np.uint8)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    packages, links = choose(sys.stdin)
    arrays, more = build(packages, links), build_hetero(packages)
    np.savez_compressed(folder / "debian.npz", allow_pickle=False, **arrays)
    np.savez_compressed(folder / "debian_hetero.npz", allow_pickle=False, **more)
    sys.stderr.write(
        f"{len(packages)} packages, {len(links)} links, "
        f"{len(arrays['words'].tobytes().split())} words, "
        f"{len(more['maintainers'].tobytes().splitlines())} maintainers, "
        f"{len(more['tags'].tobytes().splitlines())} tags\n"
    )
