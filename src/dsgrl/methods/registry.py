"""The list of all methods; command line, bench, tuning and tests derive from it."""

from dsgrl.methods.base import Method
from dsgrl.methods.cca_ssg import CCASSGMethod
from dsgrl.methods.dgi import DGIMethod
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.methods.esim import ESimMethod
from dsgrl.methods.herec import HERecMethod
from dsgrl.methods.metapath2vec import MetaPath2VecMethod
from dsgrl.methods.node2vec import Node2VecMethod
from dsgrl.methods.training_free import HistogramsMethod, HopsMethod, WalksMethod

METHODS: dict[str, type[Method]] = {
    "dsgrl": DSGRLMethod,
    "hops": HopsMethod,
    "walks": WalksMethod,
    "histograms": HistogramsMethod,
    "cca-ssg": CCASSGMethod,
    "dgi": DGIMethod,
    "node2vec": Node2VecMethod,
    "metapath2vec": MetaPath2VecMethod,
    "herec": HERecMethod,
    "esim": ESimMethod,
}
