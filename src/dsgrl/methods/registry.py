"""The list of all methods; command line, bench, tuning and tests derive from it."""

from dsgrl.methods.base import Method
from dsgrl.methods.cca_ssg import CCASSGMethod
from dsgrl.methods.dgi import DGIMethod
from dsgrl.methods.dsgrl import DSGRLMethod

METHODS: dict[str, type[Method]] = {
    "dsgrl": DSGRLMethod,
    "cca-ssg": CCASSGMethod,
    "dgi": DGIMethod,
}
