"""Which grammar reads which files. Only data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grammar:
    """`module` and `function` give the tree-sitter language; `query` is a file in resources/code."""

    module: str
    query: str
    function: str = "language"


_PYTHON = Grammar("tree_sitter_python", "python")
_BASH = Grammar("tree_sitter_bash", "bash")
_JAVASCRIPT = Grammar("tree_sitter_javascript", "javascript")
_TYPESCRIPT = Grammar("tree_sitter_typescript", "typescript", "language_typescript")
_TSX = Grammar("tree_sitter_typescript", "typescript", "language_tsx")
_RUST = Grammar("tree_sitter_rust", "rust")
_GO = Grammar("tree_sitter_go", "go")
_JAVA = Grammar("tree_sitter_java", "java")
_C = Grammar("tree_sitter_c", "c")
_CPP = Grammar("tree_sitter_cpp", "cpp")
_C_SHARP = Grammar("tree_sitter_c_sharp", "c_sharp")
_RUBY = Grammar("tree_sitter_ruby", "ruby")
_PHP = Grammar("tree_sitter_php", "php", "language_php")

GRAMMARS: dict[str, Grammar] = {
    "py": _PYTHON,
    "pyi": _PYTHON,
    "pyw": _PYTHON,
    "sh": _BASH,
    "bash": _BASH,
    "js": _JAVASCRIPT,
    "mjs": _JAVASCRIPT,
    "cjs": _JAVASCRIPT,
    "jsx": _JAVASCRIPT,
    "ts": _TYPESCRIPT,
    "mts": _TYPESCRIPT,
    "cts": _TYPESCRIPT,
    "tsx": _TSX,
    "rs": _RUST,
    "go": _GO,
    "java": _JAVA,
    "c": _C,
    "h": _CPP,
    "cc": _CPP,
    "cpp": _CPP,
    "cxx": _CPP,
    "hh": _CPP,
    "hpp": _CPP,
    "hxx": _CPP,
    "cs": _C_SHARP,
    "rb": _RUBY,
    "rake": _RUBY,
    "php": _PHP,
}
