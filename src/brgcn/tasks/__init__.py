"""Node classification and link prediction: training, selection, evaluation, run folders."""

from brgcn.tasks.link_predictor import LinkPredictor
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.node_classifier import NodeClassifier
from brgcn.tasks.node_runs import continue_runs, train_runs
from brgcn.tasks.run_folder import RunFolder
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.use import evaluate_runs, predict_nodes

__all__ = [
    "LinkPredictor",
    "LinkSettings",
    "NodeClassifier",
    "NodeSettings",
    "RunFolder",
    "continue_runs",
    "evaluate_runs",
    "predict_nodes",
    "train_runs",
]
