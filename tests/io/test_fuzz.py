"""Readers on malformed input: a graph or an `InputError`, never anything else.

`python tests/io/test_fuzz.py 100000 >> results/fuzz.jsonl` runs so many examples, a
share for each test; other ones every time. It writes one line: examples, faults, the
slowest example of each test in seconds of the processor, and the peak memory.
"""

import datetime
import io
import json
import logging
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dsgrl
from dsgrl import read_graph
from dsgrl.bench.cells import git_revision
from dsgrl.graph import as_graph
from dsgrl.io.choices import KINDS, ROLES
from dsgrl.typing import InputError

# Arrow has 64 bits for a span of time.
CENTURY = datetime.timedelta(days=36525)
IS_SCRIPT = __name__ == "__main__"
NUM_TESTS = 9
EXAMPLES = int((sys.argv[1:] or ["20000"])[0]) // NUM_TESTS if IS_SCRIPT else 40
QUICK = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    # The same examples every time; the script draws others.
    derandomize=not IS_SCRIPT,
    # Making a fault smaller takes longer than the other examples.
    phases=[Phase.generate] if IS_SCRIPT else list(Phase),
    suppress_health_check=list(HealthCheck),
)
SLOWEST: dict[str, float] = {}

EDGES = b"source,target,weight,type\na,b,1,x\nb,c,2.5,y\nc,d,0,x\n"
NODES = (
    b"id,age,team,joined,title,label,vec\na,1,red,2020-01-31,head of sales,u,1\n"
    b'b,,blue,,"a, b",v,2\nc,3,red,2021-02-01,"x ""y""",u,3\nd,4.5,,2022-01-01,z,,4\n'
)
TOKENS = [
    *("", "a", "b", "c", "007", "1", "-2.5", "1e999", "nan", "NA", "inf", "true"),
    *("2020-01-31", "31/12/2020", "9999-99-99", "head of sales", " x ", "😀", "\x00"),
    *('"', '""', '"a,b"', '"two\nlines"', '"open', ",", ";", "\t", "'", "\\", "\ufeff"),
    *("99999999999999999999", "0x1F", "<b>", "${x}", "../../x", "source", "id"),
]
NAMES = [
    *("source", "target", "from", "to", "src", "dst", "u", "v", "weight", "type"),
    *("id", "node", "name", "label", "graph", "age", "team", "", "__index_level_0__"),
]


def try_to_read(*sources: Any, **options: Any) -> None:
    """Read a graph and prepare it for a model; only an `InputError` may be raised."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            # PyG and NumPy warn of what is then refused.
            warnings.simplefilter("ignore")
            data = read_graph(*sources, **options)
            assert data.understood.lines()
            as_graph(data)
    except InputError:
        pass
    finally:
        caller = sys._getframe(1).f_code.co_name
        seconds = time.process_time() - start
        SLOWEST[caller] = max(SLOWEST.get(caller, 0.0), seconds)


names = st.sampled_from(NAMES)
options = st.fixed_dictionaries(
    {},
    optional={
        "columns": st.dictionaries(st.sampled_from(ROLES), names, max_size=2),
        "features": st.lists(names, max_size=2),
        "ignore": st.lists(names, max_size=2),
        "kinds": st.dictionaries(names, st.sampled_from(KINDS), max_size=2),
        "unknown": st.sampled_from(["error", "add", "drop"]),
        "directed": st.booleans(),
    },
)


@st.composite
def csv_text(draw: Any) -> str:
    """Give rows of odd cells under common names, mostly of one length."""
    header = draw(st.lists(names, min_size=1, max_size=5, unique=draw(st.booleans())))
    cell = st.sampled_from(TOKENS) | st.text(max_size=4)
    rows = draw(
        st.lists(
            st.lists(cell, min_size=len(header), max_size=len(header))
            | st.lists(cell, max_size=6),
            max_size=6,
        )
    )
    separator = draw(st.sampled_from([",", ",", ",", ";", "\t"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    return end.join(separator.join(row) for row in [header, *rows])


@st.composite
def damaged(draw: Any, content: bytes) -> bytes:
    """Give bytes with some cut out, doubled or changed."""
    parts = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        if not parts:
            break
        at = draw(st.integers(0, len(parts) - 1))
        size = draw(st.integers(1, 12))
        how = draw(st.sampled_from(["change", "cut", "double", "end"]))
        if how == "change":
            new = draw(st.binary(min_size=1, max_size=size))
            parts[at : at + len(new)] = new
        elif how == "cut":
            del parts[at : at + size]
        elif how == "double":
            parts[at:at] = parts[at : at + size]
        else:
            del parts[at:]
    return bytes(parts)


def _archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _parquet(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def _network() -> Any:
    graph = nx.DiGraph(label="whole")
    graph.add_node("a", f=1.5, team="red")
    graph.add_node("b", f=2, team="blue")
    graph.add_edge("a", "b", weight=2.0, type="x")
    return graph


# By suffix: bytes of a file that is read.
GOOD: dict[str, bytes] = {
    ".csv": EDGES,
    ".tsv": EDGES.replace(b",", b"\t"),
    ".parquet": _parquet({"source": ["a", "b"], "target": ["b", "c"]}),
    ".npz": _archive(edge_index=np.array([[0, 1], [1, 2]]), x=np.eye(3)),
    ".graphml": "\n".join(nx.generate_graphml(_network())).encode(),
    ".gml": "\n".join(nx.generate_gml(_network())).encode(),
}
suffixes = st.sampled_from(sorted(GOOD))


@QUICK
@given(suffixes, st.binary(max_size=300), options)
def test_any_bytes(suffix: str, content: bytes, chosen: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"g{suffix}"
        path.write_bytes(content)
        try_to_read(path, **chosen)


@QUICK
@given(csv_text(), csv_text() | st.none(), options)
def test_any_table(edges: str, nodes: str | None, chosen: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "edges.csv", Path(folder) / "nodes.csv"]
        for path, text in zip(paths, (edges, nodes), strict=True):
            if text is not None:
                path.write_bytes(text.encode("utf-8", "surrogatepass"))
        known = None if nodes is None else paths[1]
        try_to_read(paths[0], known, **chosen)
        try_to_read(folder, **chosen)


@QUICK
@given(suffixes.flatmap(lambda s: st.tuples(st.just(s), damaged(GOOD[s]))), options)
def test_damaged_file(found: tuple[str, bytes], chosen: dict[str, Any]) -> None:
    suffix, content = found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"g{suffix}"
        path.write_bytes(content)
        try_to_read(path, **chosen)


@QUICK
@given(damaged(EDGES), damaged(NODES), options)
def test_damaged_tables(edges: bytes, nodes: bytes, chosen: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "edges.csv", Path(folder) / "nodes.csv"
        for path, content in zip(paths, (edges, nodes), strict=True):
            path.write_bytes(content)
        try_to_read(*paths, **chosen)
        try_to_read([paths[0], paths[0]], paths[1], **chosen)


values = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.sampled_from(TOKENS),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.timedeltas(-CENTURY, CENTURY),
    st.binary(max_size=3),
    st.lists(st.floats(), max_size=3),
    st.lists(st.text(max_size=2), max_size=2),
    st.dictionaries(st.just("k"), st.integers(), max_size=1),
)


def columns_of(rows: int) -> Any:
    """Give a column of one kind of values, as a library would hold it."""
    kinds = [
        st.integers(-3, 3),
        st.floats(),
        st.floats(width=32),
        st.sampled_from(TOKENS),
        st.booleans(),
        st.dates(),
        st.datetimes(),
        st.times(),
        st.timedeltas(-CENTURY, CENTURY),
        st.binary(max_size=3),
        st.lists(st.floats(-5, 5), min_size=2, max_size=2),
        st.lists(st.text(max_size=2), max_size=2),
        st.decimals(-9, 9, places=2),
        st.dictionaries(st.just("k"), st.integers(-9, 9), min_size=1),
    ]
    return st.sampled_from(kinds).flatmap(
        lambda kind: st.lists(st.none() | kind, min_size=rows, max_size=rows)
    )


@st.composite
def arrow_tables(draw: Any) -> pa.Table:
    rows = draw(st.integers(0, 5))
    header = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    columns = {}
    for name in header:
        is_id = name in ("source", "target", "id", "from", "to")
        cells = st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows)
        column = draw(cells if is_id and draw(st.booleans()) else columns_of(rows))
        array = pa.array(column)
        if draw(st.booleans()) and pa.types.is_string(array.type):
            kinds = (pa.large_string(), pa.string_view())
            array = array.cast(draw(st.sampled_from(kinds)))
        if draw(st.integers(0, 5)) == 0 and not pa.types.is_nested(array.type):
            array = array.dictionary_encode()
        columns[name] = array
    return pa.table(columns)


@QUICK
@given(arrow_tables(), arrow_tables() | st.none(), options)
def test_any_arrow_table(
    edges: pa.Table, nodes: pa.Table | None, chosen: dict[str, Any]
) -> None:
    try_to_read(edges, nodes, **chosen)


@QUICK
@given(
    st.lists(st.tuples(st.sampled_from(["a", 1, "1", (0, 1), None, 2.5]), values)),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), values), max_size=5),
    st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph]),
    options,
)
def test_any_network(
    nodes: list[Any], links: list[Any], kind: Any, chosen: dict[str, Any]
) -> None:
    graph = kind()
    for node, value in nodes:
        if node is not None:
            graph.add_node(node, age=value, **({"type": value} if links else {}))
    keys = list(graph)
    for u, v, value in links:
        if keys:
            graph.add_edge(keys[u % len(keys)], keys[v % len(keys)], weight=value)
    try_to_read(graph, **chosen)


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats()), max_size=6),
    st.integers(1, 6),
    arrow_tables() | st.none(),
    options,
)
def test_any_matrix(
    entries: list[Any], size: int, nodes: pa.Table | None, chosen: dict[str, Any]
) -> None:
    rows, cols, data = zip(*entries, strict=True) if entries else ((), (), ())
    keep = [i for i in range(len(rows)) if rows[i] < size and cols[i] < 5]
    matrix = sp.coo_matrix(
        ([data[i] for i in keep], ([rows[i] for i in keep], [cols[i] for i in keep])),
        shape=(size, 5),
    )
    try_to_read(matrix, nodes, **chosen)


small = st.lists(st.integers(-2, 9) | st.sampled_from([2**31, -5, 10**12]), max_size=6)


@QUICK
@given(
    st.dictionaries(
        st.sampled_from(
            ["A", "graph_indicator", "graph_labels", "node_labels", "node_attributes"]
        ),
        small.map(lambda found: "\n".join(f"{i}, {i + 1}" for i in found).encode())
        | small.map(lambda found: "\n".join(map(str, found)).encode())
        | st.binary(max_size=40),
    )
)
def test_any_tu_files(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for part, content in files.items():
            (Path(folder) / f"T_{part}.txt").write_bytes(content)
        (Path(folder) / "T_A.txt").touch()
        try_to_read(folder)


arrays = st.sampled_from(
    [
        np.array([[0, 1], [1, 2]]),
        np.array([[0, 10**15], [1, 2]]),
        np.array([[-1], [2]]),
        np.eye(3),
        np.full((3, 2), np.nan),
        np.array(["a", "b", "c"]),
        np.array([b"a", b"\xff", b"c"]),
        np.array([1, 2**64 - 1], dtype=np.uint64),
        np.array(3),
        np.array([1 + 2j]),
        np.array([], dtype=np.int64),
        np.array([0, 1, 2, 2]),
        np.array([3, 3]),
        np.array([2**40, 2**40]),
    ]
)
keys = ["edge_index", "edge_weight", "x", "y", "ids", "labels", "format", "shape"]
keys += [
    f"{p}{q}" for p in ("adj_", "attr_", "") for q in ("data", "indices", "indptr")
]
keys += ["adj_shape", "attr_shape"]


@QUICK
@given(st.dictionaries(st.sampled_from(keys), arrays, max_size=7))
def test_any_arrays(found: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "g.npz", **found)
        try_to_read(Path(folder) / "g.npz")


TESTS: list[Callable[[], None]] = [
    test_any_bytes,
    test_any_table,
    test_damaged_file,
    test_damaged_tables,
    test_any_arrow_table,
    test_any_network,
    test_any_matrix,
    test_any_tu_files,
    test_any_arrays,
]


def run_all() -> dict[str, Any]:
    """Run every test; a fault is printed and counted."""
    faults, begin = 0, time.perf_counter()
    for test in TESTS:
        try:
            test()
        except Exception:
            faults += 1
            traceback.print_exc()
        sys.stderr.write(f"{test.__name__}: {time.perf_counter() - begin:.0f} s\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "examples": EXAMPLES * NUM_TESTS,
        "faults": faults,
        "seconds": round(time.perf_counter() - begin),
        "slowest_seconds": {name: round(s, 2) for name, s in SLOWEST.items()},
        "peak_memory_gb": round(peak, 2),
        "version": dsgrl.__version__,
        "git": git_revision(),
    }


if IS_SCRIPT:
    assert len(TESTS) == NUM_TESTS
    logging.disable()
    sys.stdout.write(json.dumps(run_all()) + "\n")
