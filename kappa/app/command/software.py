"""``kappa software``."""

from kappa.app.command.arguments import add_site, parser, require_described, resolved
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder

_DESCRIPTION = """\
What programs and libraries ran on a site: which of them are others than those accepted. SoftwareInventory fails for
these until they are accepted; what the first run found is accepted.

Exit status: 0 nothing has changed, 1 something has, 2 no run has looked at the programs."""


def run(arguments: list[str]) -> int:
    words = parser("software", _DESCRIPTION, "  kappa software embedded\n  kappa software embedded --accept\n")
    add_site(words, results=True)
    words.add_argument("--accept", action="store_true", help="accept what the newest run found")
    options = resolved(words.parse_args(arguments))
    from kappa.core.record.software import changes, kept_in

    require_described(options.site)
    changed = False
    inventories = kept_in(results := results_folder(options.site))
    if not inventories:
        raise InputError(
            f"{clean(str(results))} holds no inventory of programs: the check SoftwareInventory of"
            f" `kappa validate {options.site}` makes it"
        )
    for kept in inventories:
        accepted, found = kept.accepted(), kept.found()
        different = changes(accepted.files, found.files) if accepted and found else []
        if options.accept and found:
            kept.accept()
        since = f"accepted on {accepted.since}" if accepted else "not accepted"
        print(f"{kept.name}: {since}; {len(different)} changed{' and accepted now' if options.accept else ''}")
        for line in different:
            print(f"  {clean(line)}")
        changed = changed or bool(different)
    return int(changed and not options.accept)
