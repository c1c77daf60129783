"""A Transformer's tokens, sampled with a temperature, are the same alone and in a batch.

Its matrix products are made row by row, so that what is left are the functions that are replaced.
"""

from __future__ import annotations

import pytest
import torch
import warp_reduce.torch as wt

VOCABULARY, WIDTH, HEADS, LAYERS = 5003, 32, 4, 2
LENGTH, STEPS, TEMPERATURE = 6, 5, 0.8


class Transformer:
    """Decoder blocks with random weights: attention and a gated network, each behind a root-mean-square norm."""

    def __init__(self, device: str) -> None:
        generator = torch.Generator().manual_seed(11)

        def weights(*shape: int) -> torch.Tensor:
            return (torch.randn(*shape, generator=generator) / shape[-1] ** 0.5).to(device)

        self.embedding = weights(VOCABULARY, WIDTH) * WIDTH**0.5
        self.unembedding = weights(VOCABULARY, WIDTH) * 3
        self.blocks = [
            {name: weights(WIDTH, WIDTH) for name in ("query", "key", "value", "out", "gate", "up", "down")}
            for _ in range(LAYERS)
        ]

    @staticmethod
    def product(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        return torch.stack([torch.mv(matrix, row) for row in rows]).reshape(*x.shape[:-1], len(matrix))

    @staticmethod
    def normed(x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6)

    def attention(self, x: torch.Tensor, block: dict[str, torch.Tensor]) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            self.product(x, block[name]).reshape(batch, length, HEADS, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        scores = (query.unsqueeze(3) * key.unsqueeze(2)).sum(-1) / (WIDTH / HEADS) ** 0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        mixed = (weights.unsqueeze(-1) * value.unsqueeze(2)).sum(3)
        return self.product(mixed.transpose(1, 2).reshape(batch, length, WIDTH), block["out"])

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens]
        for block in self.blocks:
            x = x + self.attention(self.normed(x), block)
            hidden = self.normed(x)
            gated = torch.relu(self.product(hidden, block["gate"])) * self.product(hidden, block["up"])
            x = x + self.product(gated, block["down"])
        return self.product(self.normed(x[:, -1]), self.unembedding)


def sampled(model: Transformer, prompts: torch.Tensor, seeds: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens that follow, and their log-probabilities; each prompt has its own random numbers."""
    generators = [torch.Generator(prompts.device).manual_seed(seed) for seed in seeds]
    tokens, told = prompts, []
    for _ in range(STEPS):
        scores = model.logits(tokens) / TEMPERATURE
        probabilities, logarithms = torch.softmax(scores, -1), torch.log_softmax(scores, -1)
        rows = zip(probabilities, generators)
        chosen = torch.stack([torch.multinomial(row, 1, generator=generator) for row, generator in rows])
        told.append(logarithms.gather(1, chosen))
        tokens = torch.cat([tokens, chosen], 1)
    return tokens[:, LENGTH:], torch.cat(told, 1)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("batch", [2, 7])
def test_alone_and_in_a_batch(batch: int, device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    check(batch, device)


def check(batch: int, device: str) -> None:
    model = Transformer(device)
    prompts = torch.randint(VOCABULARY, (batch, LENGTH), generator=torch.Generator().manual_seed(5)).to(device)
    seeds = [100 + each for each in range(batch)]
    with wt.batch_invariant(), torch.no_grad():
        tokens, logarithms = sampled(model, prompts, seeds)
        assert len(tokens.unique()) > STEPS, "these samples say nothing"
        for row in range(batch):
            token, logarithm = sampled(model, prompts[row : row + 1], seeds[row : row + 1])
            assert torch.equal(token[0], tokens[row])
            assert torch.equal(logarithm[0].view(torch.int32), logarithms[row].view(torch.int32))
