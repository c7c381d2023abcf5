"""The bi-level attention layer for given features."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.attention import AttentionWeights
from brgcn.nn.frame import BiLevelFrame, LayerOptions, glorot
from brgcn.nn.slots import EdgeScores, Seed
from brgcn.ops import edge_sources, look_up, pair_rows, source_rows, typed_blocks, typed_dot

MAKING = 32  # products of a pair that take as long as a number of a relation's matrix, made, read, and its gradient


class BRGCNConv(BiLevelFrame):
    r"""Bi-level attention over relations and neighbours.

    .. math::
        e_{ij} &= \mathrm{LeakyReLU}(a_r \cdot [h_i \| h_j]) \qquad
        g_{ij} = \mathrm{softmax}_{j \in N_i^r}(e_{ij}) \qquad
        z_{ir} = \sum_j g_{ij} h_j

        \psi_i[r, r'] &= \mathrm{softmax}_{r' \in R_i}(z_{ir} W^q_r \cdot z_{ir'} W^k_{r'})

        h_i' &= \sum_{r \in R_i} \mathrm{ReLU}
            \Big(\sum_{r' \in R_i} \psi_i[r, r'] \, z_{ir'} W^v_{r'} + h_i W_{root}\Big)

    A node without incoming edges gets :math:`\mathrm{ReLU}(h_i W_{root})`. With ``node_attention=False`` g is the mean,
    with ``relation_attention=False`` the outer part is :math:`\mathrm{ReLU}(\sum_r z_{ir} W^v_r + h_i W_{root})`;
    without both the layer is R-GCN.

    Called as ``conv(x, graph)``, or as ``conv(x, edge_index, edge_type)`` like PyG's relational layers; the second form
    sorts the edges on every call.

    Args:
        in_channels: width of the input features.
        out_channels: width of the output of one head.
        num_relations: relations of the graph, inverses included.
        node_attention, relation_attention: the fillings of the two slots, both True by default.
        self_connection: ``inside`` (default) every summand as in the equation, ``outside`` (added once after the sum),
            ``relation`` (one more member of R_i that attends and is attended to), or ``none``.
        aggregate: ``sum`` (default) or ``mean`` over r.
        activation: ``relu`` (default) or None.
        negative_slope: of the LeakyReLU, 0.2 by default.
        dropout: on g, 0 by default.
        counts: what the summary z of a pair with n edges is multiplied by: ``none`` (1, the default), ``log``
            (1 + log n), ``sqrt``, or ``share`` (n of all edges into the node: means over relations then add up to the
            mean over all neighbours). A softmax forgets how many neighbours there were.
        scaled: divide q . k by the square root of ``out_channels``.
        num_bases: 0, or the number B of shared bases: W_r = sum_b c_rb V_b, with coefficients c of their own for query,
            key and value.
        num_blocks: 0, or the number of blocks on the diagonal of each W_r, all else being 0; it divides both widths.
        heads: independent copies, concatenated or, with ``concat=False``, averaged.
        replicas: independent layers that are computed together, each on features of its own.

    Parameters (one head, no bases): ``attention_target``, ``attention_source`` [R, in]; ``query``, ``key``, ``value``
    [R, in, out] (``value`` alone without relation attention; with blocks [R, blocks, in / blocks, out / blocks]);
    ``root`` [in, out]. With ``self_connection="relation"``
    also ``root_query``, ``root_key`` [in, out]. With heads, their axis follows R (or leads in ``root``, ``basis``).
    """

    def __init__(
        self, in_channels: int, out_channels: int, num_relations: int, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(out_channels, num_relations, **options)
        if in_channels < 1:
            raise SettingsError(f"in_channels must be at least 1, not {in_channels}")
        if self.num_blocks and (in_channels % self.num_blocks or out_channels % self.num_blocks):
            raise SettingsError(f"num_blocks={self.num_blocks} must divide the widths {in_channels} and {out_channels}")
        self.in_channels = in_channels
        if self.node_slot.has_scores:
            self.attention_target = self.per_lane(in_channels, leading=num_relations)
            self.attention_source = self.per_lane(in_channels, leading=num_relations)
        if self.num_bases:
            self.basis = self.per_lane(self.num_bases, in_channels, out_channels)
            self.add_coefficients()
        else:
            blocks = (self.num_blocks,) if self.num_blocks else ()
            for name in self.relation_slot.projections:
                shape = (*blocks, in_channels // max(1, self.num_blocks), out_channels // max(1, self.num_blocks))
                setattr(self, name, self.per_lane(*shape, leading=num_relations))
        if self.has_root:
            self.root = self.per_lane(in_channels, out_channels)
        if self.relation_slot.attends_to_self:
            self.root_query = self.per_lane(in_channels, out_channels)
            self.root_key = self.per_lane(in_channels, out_channels)
        self.reset_parameters()

    def lane_axis(self, name: str) -> int:
        return 0 if name in ("basis", "root", "root_query", "root_key") else 1

    def reset_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            if name.startswith("attention_"):
                glorot(parameter, 2 * self.in_channels, 1)
            elif not name.endswith("_coefficients"):
                glorot(parameter, parameter.size(-2), parameter.size(-1))
        if self.num_bases:
            self.reset_coefficients()

    def forward(
        self,
        x: Tensor,
        graph: RelationalGraph | Tensor,
        edge_type: Tensor | None = None,
        *,
        return_attention_weights: bool = False,
        seed: Seed = None,
    ) -> Tensor | tuple[Tensor, AttentionWeights]:
        """x [num_nodes, in] -> [num_targets, out] (heads * out with ``concat``).

        With replicas x is [num_nodes, replicas, in], and the result has that axis too.

        ``graph`` is a ``RelationalGraph``, or an ``edge_index`` [2, E] with ``edge_type`` [E] beside it. ``seed`` fixes
        the dropout; without it, torch's random numbers decide.
        """
        if isinstance(graph, Tensor):
            if edge_type is None:
                raise SettingsError("conv(x, edge_index, edge_type) needs edge_type")
            graph = RelationalGraph.from_edges(graph, edge_type, x.size(0), self.num_relations)
        self.check_graph(graph)
        expected = (graph.num_nodes, *([self.replicas] if self.replicas > 1 else []), self.in_channels)
        if x.shape != expected:
            raise SettingsError(f"x must have shape {list(expected)}, not {list(x.shape)}")
        lanes = (
            x.reshape(graph.num_nodes, self.replicas, 1, self.in_channels).expand(-1, -1, self.heads, -1).flatten(1, 2)
        )  # [N, L, in]
        z, edge_attention = self.node_slot(lanes, edge_sources(graph), self._scores(lanes, graph), graph, seed)
        projected = self._project_pairs(self.with_counts(z, graph), graph)
        targets = lanes[: graph.num_targets]
        root = self._project(targets, self.root) if self.has_root else None
        own = None
        if self.relation_slot.attends_to_self:
            parts = [self._project(targets, self.root_query), self._project(targets, self.root_key)]
            own = torch.cat(parts, dim=-1)
        out, relation_attention = self.relation_slot(projected, root, own, graph, return_attention_weights)
        return self.finish(out, edge_attention, relation_attention, graph, return_attention_weights)

    def _scores(self, lanes: Tensor, graph: RelationalGraph) -> EdgeScores | None:
        if not self.node_slot.has_scores:
            return None
        items, of_edge = source_rows(graph)
        target = typed_dot(lanes, self.lanes(self.attention_target, 1), pair_rows(graph))
        return EdgeScores(target, typed_dot(lanes, self.lanes(self.attention_source, 1), items), of_edge)

    def _project_pairs(self, z: Tensor, graph: RelationalGraph) -> Tensor:
        """z [P, L, in] -> [P, L, projections * out]."""
        return self._mix_bases(z, graph) if self._bases_come_first(graph) else typed_blocks(z, self._weights(), graph)

    def _bases_come_first(self, graph: RelationalGraph) -> bool:
        """Whether it is less work to multiply the pairs by the bases, which all projections share, than to make a
        matrix of each relation: so for few bases, or many relations beside the pairs."""
        projections, pairs = len(self.relation_slot.projections), graph.num_pairs
        through_bases = pairs * self.num_bases * (self.in_channels + projections)
        of_relations = projections * self.in_channels * (pairs + MAKING * self.num_relations)
        return 0 < through_bases < of_relations

    def _mix_bases(self, z: Tensor, graph: RelationalGraph) -> Tensor:
        through = torch.einsum("pli,lbio->plbo", z, self.lanes(self.basis, 0))  # [P, L, B, out]
        coefficients = self.coefficients()  # [R, L, B, projections]
        of_pairs = look_up(coefficients.flatten(1), graph.pair_relation).view(-1, *coefficients.shape[1:])
        return torch.einsum("plbo,plbj->pljo", through, of_pairs).flatten(2)

    def _weights(self) -> Tensor:
        """[R, L, projections, blocks, in / blocks, out / blocks]"""
        if self.num_bases:
            basis = self.lanes(self.basis, 0)  # [L, B, in, out]
            return torch.einsum("rlbp,lbio->rlpio", self.coefficients(), basis).unsqueeze(3)
        weights = torch.stack([self.lanes(getattr(self, name), 1) for name in self.relation_slot.projections], dim=2)
        return weights if self.num_blocks else weights.unsqueeze(3)

    def _project(self, x: Tensor, weight: Tensor) -> Tensor:
        """x [T, L, in], weight [L, in, out] -> [T, L, out]."""
        return torch.einsum("tli,lio->tlo", x, self.lanes(weight, 0))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations}, "
            f"node={type(self.node_slot).__name__}, relation={type(self.relation_slot).__name__}, heads={self.heads})"
        )
