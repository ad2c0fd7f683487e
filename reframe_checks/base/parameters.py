"""A case's parameters, which tell it from the other cases of its check."""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ


class Parameters(rfm.RegressionTestPlugin):
    """Records them structured: a report compares cases that share them all, whatever their names."""

    #: name -> value as in the case's name; those of a fixture as ``fixture.name``.
    parameters = rfmb.variable(typ.Dict[str, str], value={}, loggable=True)

    @rfmb.run_after("init")
    def record_parameters(self):
        cls = type(self)
        self.parameters = formatted(cls, cls.get_variant_info(self.variant_num, recurse=True))


def formatted(cls, variant):
    """The parameters of a variant of ``cls`` as text, without those that ReFrame's options added."""
    found = {
        name: cls.raw_params[name].format(value)
        for name, value in variant["params"].items()
        if not name.startswith(".")
    }
    for name, of_fixture in variant["fixtures"].items():
        fixture = cls.fixture_space[name]
        if fixture.action != "join":  # as ReFrame's names
            inner = formatted(fixture.cls, of_fixture)
            found |= {f"{name}.{key}": value for key, value in inner.items()}
    return found
