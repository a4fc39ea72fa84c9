"""Goal: types, docstrings and the package say the same.
Method: the stub's names and parameters beside those that the package reports of itself."""

import ast
import inspect
import os

import pytest

import lethe

with open(os.path.join(os.path.dirname(lethe.__file__), "__init__.pyi"), encoding="utf-8") as file:
    STUB = ast.parse(file.read())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
TYPES = ["Bloom", "Quotient", "Gaussian", "Window", "Forgetful", "Sketch", "Cascade", "Store"]


def stub_methods(name):
    """The methods of a class of the stub, those of its bases included, with their parameters."""
    found = {}
    node = CLASSES[name]
    for base in node.bases:
        if getattr(base, "id", None) in CLASSES:
            found.update(stub_methods(base.id))
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            names = [argument.arg for argument in item.args.args[1:] + item.args.kwonlyargs]
            found[item.name] = names
    return found


def own_methods(type):
    return {name for name in dir(type)
            if not name.startswith("_") and getattr(type, name) is not getattr(object, name, None)}


def test_every_name_is_in_the_stub():
    described = set(CLASSES) | {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    described |= {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    assert set(lethe.__all__) <= described
    assert {name for name in described if not name.startswith("_")} <= set(lethe.__all__)


@pytest.mark.parametrize("name", TYPES)
def test_every_method_is_in_the_stub_with_its_parameters(name):
    type = getattr(lethe, name)
    stub = stub_methods(name)
    assert {method for method in stub if not method.startswith("_")} == own_methods(type)
    for method in own_methods(type):
        member = getattr(type, method)
        if not callable(member):
            continue
        signature = inspect.signature(member)
        names = [parameter for parameter in signature.parameters if parameter != "self"]
        if method != "promote":  # its options are a Gaussian's
            assert names == stub[method], method


@pytest.mark.parametrize("name", TYPES)
def test_every_method_has_a_docstring(name):
    type = getattr(lethe, name)
    for method in own_methods(type):
        assert inspect.getdoc(getattr(type, method)), method
    assert inspect.getdoc(type)


@pytest.mark.parametrize("name", TYPES)
def test_every_option_is_known(name, tmp_path):
    """An option of the stub that the package did not know would be a TypeError that names it."""
    type = getattr(lethe, name)
    options = [option for option in stub_methods(name)["__init__"] if option != "folder"]
    folder = [tmp_path / "folder"] if "folder" in stub_methods(name)["__init__"] else []
    nothing = dict.fromkeys(options)
    if name == "Store":
        nothing["create"] = True
    type(*folder, **nothing).close()
    with pytest.raises(TypeError, match="no option 'other'"):
        type(*folder, other=1)


def test_exceptions_are_what_the_stub_says():
    for name, node in CLASSES.items():
        if not name.endswith("Error"):
            continue
        bases = {base.id for base in node.bases}
        assert {base.__name__ for base in getattr(lethe, name).__bases__} == bases, name
