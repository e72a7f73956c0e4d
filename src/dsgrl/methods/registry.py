"""The list of all methods; command line, bench, tuning and tests derive from it."""

from dsgrl.methods.ad_gcl import ADGCLMethod
from dsgrl.methods.base import Method
from dsgrl.methods.bgrl import BGRLMethod
from dsgrl.methods.cca_ssg import CCASSGMethod
from dsgrl.methods.dgi import DGIMethod
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.methods.esim import ESimMethod
from dsgrl.methods.gca import GCAMethod
from dsgrl.methods.ggd import GGDMethod
from dsgrl.methods.graphcl import GraphCLMethod
from dsgrl.methods.graphmae import GraphMAEMethod
from dsgrl.methods.herec import HERecMethod
from dsgrl.methods.infograph import InfoGraphMethod
from dsgrl.methods.joao import JOAOMethod
from dsgrl.methods.metapath2vec import MetaPath2VecMethod
from dsgrl.methods.mvgrl import MVGRLMethod
from dsgrl.methods.node2vec import Node2VecMethod
from dsgrl.methods.simgrace import SimGRACEMethod
from dsgrl.methods.training_free import HistogramsMethod, HopsMethod, WalksMethod

METHODS: dict[str, type[Method]] = {
    "dsgrl": DSGRLMethod,
    "hops": HopsMethod,
    "walks": WalksMethod,
    "histograms": HistogramsMethod,
    "cca-ssg": CCASSGMethod,
    "dgi": DGIMethod,
    "gca": GCAMethod,
    "bgrl": BGRLMethod,
    "ggd": GGDMethod,
    "mvgrl": MVGRLMethod,
    "graphmae": GraphMAEMethod,
    "infograph": InfoGraphMethod,
    "graphcl": GraphCLMethod,
    "joao": JOAOMethod,
    "ad-gcl": ADGCLMethod,
    "simgrace": SimGRACEMethod,
    "node2vec": Node2VecMethod,
    "metapath2vec": MetaPath2VecMethod,
    "herec": HERecMethod,
    "esim": ESimMethod,
}
