"""What source files define, in every language."""

from __future__ import annotations

import pytest

from tests.support.workbench import Bench

_SOURCES = {
    "a.py": (
        "@mark\nclass A:\n    async def f(self): ...\ndef g(): ...\n",
        ["2 | class A:", "3 |   async def f(self): ...", "4 | def g(): ..."],
    ),
    "a.sh": ("f() {\n :\n}\n", ["1 | f() {"]),
    "a.mjs": (
        "export class A {\n  m() {}\n}\nexport const h = () => 1\n",
        ["1 | export class A {", "2 |   m() {}", "4 | export const h = () => 1"],
    ),
    "a.ts": (
        "interface I { a: string }\ntype T = 1\nenum E { A }\n",
        ["1 | interface I { a: string }", "2 | type T = 1", "3 | enum E { A }"],
    ),
    "a.tsx": ("const App = () => <div/>\n", ["1 | const App = () => <div/>"]),
    "a.rs": (
        "trait T {\n  fn g();\n}\nimpl T for S {\n  fn g() {}\n}\n",
        ["1 | trait T {", "2 |   fn g();", "4 | impl T for S {", "5 |   fn g() {}"],
    ),
    "a.go": ("package a\nfunc (s *S) M() {}\ntype S struct {}\n", ["2 | func (s *S) M() {}", "3 | type S struct {}"]),
    "A.java": ("class A {\n  A() {}\n  void m() {}\n}\n", ["1 | class A {", "2 |   A() {}", "3 |   void m() {}"]),
    "a.c": (
        "int *f(void) { return 0; }\nstruct s { int a; };\n",
        ["1 | int *f(void) { return 0; }", "2 | struct s { int a; };"],
    ),
    "a.cc": (
        "namespace n {\nclass A { };\n}\nint n::A::k() { }\n",
        ["1 | namespace n {", "2 |   class A { };", "4 | int n::A::k() { }"],
    ),
    "a.cs": (
        "class A {\n  int P { get; }\n  void M() {}\n}\n",
        ["1 | class A {", "2 |   int P { get; }", "3 |   void M() {}"],
    ),
    "a.rb": ("module M\n  def self.s; end\nend\n", ["1 | module M", "2 |   def self.s; end"]),
    "a.php": ("<?php\nclass A {\n  function m() {}\n}\n", ["2 | class A {", "3 |   function m() {}"]),
}


@pytest.mark.parametrize("name", _SOURCES)
async def test_definitions_are_listed_with_their_lines(bench: Bench, name: str) -> None:
    source, lines = _SOURCES[name]
    (bench.root / name).write_text(source)
    result = await bench.xml(f'<list_code_definition_names path="{name}"/>')
    assert result.llm_echo.split("\n") == [f"{name}:", *lines]


async def test_a_folder_is_gone_through_without_what_is_ignored(bench: Bench) -> None:
    for name in ("a.py", "sub/b.py", "gen/c.py", "notes.txt"):
        (bench.root / name).parent.mkdir(exist_ok=True)
        (bench.root / name).write_text(f"def {name[-4]}(): ...\n")
    (bench.root / ".gitignore").write_text("gen/\n")
    result = await bench.call("list_code_definition_names", path=".")
    assert result.llm_echo == "a.py:\n1 | def a(): ...\n\nsub/b.py:\n1 | def b(): ..."


async def test_broken_code_gives_what_can_be_made_out(bench: Bench) -> None:
    (bench.root / "a.py").write_bytes(b"def good():\n    pass\n\n)((\xff\nclass Also:\n    pass\n")
    result = await bench.call("list_code_definition_names", path="a.py")
    assert "1 | def good():" in result.llm_echo


async def test_a_file_in_no_known_language_is_refused(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("x")
    result = await bench.call("list_code_definition_names", path="a.txt")
    assert result.llm_echo == (
        "list_code_definition_names: path: 'a.txt' is in no language whose definitions can be read."
    )


async def test_a_file_that_is_too_big_is_told(bench: Bench) -> None:
    (bench.root / "a.py").write_text("x = 1\n" * 200_000)
    (bench.root / "b.py").write_text("def f(): ...\n")
    result = await bench.call("list_code_definition_names", path=".")
    assert result.llm_echo == "b.py:\n1 | def f(): ...\n['a.py' is over 1000000 bytes and was left out]"
