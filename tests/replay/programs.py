"""Programs that print recorded output of real ones: bash scripts. A request without a record fails."""

from collections.abc import Mapping

from kappa.core.vocabulary import programs
from tests.unit.conftest import DATA

# The recording says with which options it was made; a file's name is the job's own.
_LIKE_ASKED = r"""own='{own}'
asked=$(sed -E "$own" <<<"$*")
for recording in {recordings}; do
    ran=$(sed -nE '{options}' "$recording" | sed -E "$own")
    [[ $ran == "$asked" ]] || continue
    {show}
    exit
done
echo "no recording of $0 $*" >&2
exit 1"""

#: Slurm's, without its options: each task is the recorded run.
SRUN = 'while [[ $1 == -* ]]; do shift; done; exec "$@"'
#: The same, where the job asks two ranks where they are: they are on the CPUs that they were to be bound to, …
SRUN_ON_CPUS = """for word; do [[ $word == --cpu-bind=map_cpu:* ]] && cpus=${word##*:}; done
while [[ $1 == -* ]]; do shift; done
[[ $* == *place_of_rank.sh ]] || exec "$@"
SLURM_PROCID=0 taskset -c "${cpus%,*}" "$@"
SLURM_PROCID=1 taskset -c "${cpus#*,}" "$@\""""
#: … or on the nodes ``$RANKS_ON``: each reports that it is ``$HOST``.
SRUN_ON_NODES = """while [[ $1 == -* ]]; do shift; done
[[ $* == *place_of_rank.sh ]] || exec "$@"
SLURM_PROCID=0 HOST=${RANKS_ON% *} "$@"
SLURM_PROCID=1 HOST=${RANKS_ON#* } "$@\""""
HOSTNAME = "echo $HOST"
#: Expands a list of nodes such as ``node[1-4]``.
SCONTROL = "for number in 1 2 3 4; do echo node$number; done"


def shows(recording: str, options: str | None = None, where: str = "") -> str:
    """Print a file of ``tests/data``, or write it to ``where``.

    :param options: those with which it was recorded, which the check has to ask for; ``None`` of a program that reads
        an input file.
    """
    show = f"cat {DATA}/{recording}" + (f" > {where}" if where else "")
    if options is None:
        return show
    return f"""[[ $* == "{options}" ]] || {{ echo "no recording of $0 $*" >&2; exit 1; }}; {show}"""


def ior() -> str:
    return _LIKE_ASKED.format(
        own="s/ -o [^ ]*//; s/summaryFile=[^ ]*//",
        recordings=f"{DATA}/ior/as_asked/*",
        options='/"Command line"/{s/^[^:]*: "ior //; s/", *$//; p}',
        show=r'cp "$recording" "$(sed -E "s/.*summaryFile=([^ ]*).*/\1/" <<<"$*")"',
    )


def mdtest(nodes: str) -> str:
    """:param nodes: ``one`` or ``two``, as the recordings are named."""
    return _LIKE_ASKED.format(
        own="s/ -d [^ ]*//",
        recordings=f"{DATA}/mdtest/as_asked/{nodes}_*",
        options=r"/^Command line used: mdtest /{s///; s/\x27//g; p}",
        show='cat "$recording"',
    )


def iozone() -> str:
    return _LIKE_ASKED.format(
        own="s/ -f [^ ]*//",
        recordings=f"{DATA}/iozone/version_3_506/*",
        options=r"/^\tCommand line used: iozone /{s///; p}",
        show='cat "$recording"',
    )


def osu(folder: str, *, validated: bool) -> Mapping[str, str]:
    """The programs of OSU whose output is in this folder of ``tests/data/osu``.

    :param validated: the suite in C, which checks its data (``-c``) and is told that it adds floats.
    """
    check, floats = (" -c", " -T mpi_float") if validated else ("", "")
    options = {
        "osu_latency": f"-i 200 -x 20{check} -m 1:1048576",
        "osu_bw": f"-i 10 -x 2{check} -m 8:1048576 -W 64",
        "osu_bibw": f"-i 10 -x 2{check} -m 8:1048576 -W 64",
        "osu_barrier": "-i 1000 -x 5",
        **{f"osu_{name}": f"-i 50 -x 5{check} -m 1:1048576" for name in ("bcast", "gather", "alltoall")},
        **{f"osu_{name}": f"-i 50 -x 5{check} -m 4:1048576{floats}" for name in ("reduce", "allreduce")},
    }
    if validated:
        options |= {
            "osu_multi_lat": f"-i 200 -x 20{check} -m 1:1048576", "osu_mbw_mr": f"-i 10 -x 2{check} -m 8:1048576",
            "osu_init": "", "osu_hello": "",
            **{f"osu_{name}_latency": "-i 200 -x 20 -m 1:1048576" for name in ("put", "get", "acc", "get_acc")},
            **{f"osu_{name}_latency": "-i 200 -x 20" for name in ("fop", "cas")},
            **{f"osu_{name}": "-i 10 -x 2 -m 8:1048576" for name in ("put_bw", "get_bw", "put_bibw")},
        }  # fmt: skip
    return {name: shows(f"osu/{folder}/{name}.txt", asked) for name, asked in options.items()}


def osu_suite() -> Mapping[str, str]:
    """Start-up and collectives of the suite in C on four ranks."""
    folder = "osu/as_asked/four_ranks"
    plain = ["osu_bcast", "osu_gather", "osu_alltoall", "osu_reduce", "osu_allreduce"]
    return {
        "osu_init": shows(f"{folder}/osu_init.txt", ""),
        "osu_hello": shows(f"{folder}/osu_hello.txt", ""),
        "osu_barrier": shows(f"{folder}/osu_barrier.txt", "-i 1000 -x 5"),
        **{
            program: shows(f"{folder}/{program}.txt", _options_of(program))
            for program in [*plain, *programs.BLOCKING, *programs.NON_BLOCKING, *programs.NEIGHBOUR]
        },
    }


def _options_of(program: str) -> str:
    if not programs.has_sizes(program):
        return "-i 50 -x 5"
    if not programs.reduces(program):
        return "-i 50 -x 5 -c -m 1:1048576"
    # A scatter of blocks has an element for each rank, at least.
    return f"-i 50 -x 5 -c -m {16 if programs.divides_into_blocks(program) else 4}:1048576 -T mpi_float"


def hpl_in_container() -> str:
    """On one node alone, what half of the GPUs would print: twice the time, and as much for each GPU."""
    half = "s/2     4        52.88       3.370e+05/2     2       105.76       1.685e+05/"
    return f"[[ $* == *--no-multinode* ]] && half='{half}'; sed \"$half\" {DATA}/hpl/nvidia_eight_gpus.txt"


def nvbandwidth() -> str:
    """The version, and then the tests that were asked for."""
    return f"""awk -v asked="$*" '
        /^Running/ {{ wanted = index(asked, substr($2, 1, length($2) - 1)) }} NR == 1 || wanted
    ' {DATA}/nvbandwidth/seven_gpus.txt"""


def lammps(release: str = "") -> str:
    """By the cube of strong scaling; the log's name is the last word.

    :param release: the folder of its logs in ``tests/data/lammps``, if they have one.
    """
    data = DATA / "lammps" / release
    return (
        '[[ $* == *" -var melting_steps 100 -var steps 100 -var rows_every 10 "* ]] || exit 1\n'
        "case $* in\n"
        f'*" -var x 14 -var y 14 -var z 14 "*) cp {data}/strong_two_ranks.log "${{!#}}" ;;\n'
        f'*" -var x 20 -var y 10 -var z 10 "*) cp {data}/weak_two_ranks.log "${{!#}}" ;;\n'
        "*) exit 1 ;;\nesac"
    )


def openfoam() -> str:
    """By the columns of its mesh; the times of its functions are in a file of the first rank."""
    data = DATA / "openfoam"
    return (
        "case $(sed -n 's/^columns //p' 1x2.size) in\n"
        "'100;') series=strong ;;\n'128;') series=weak ;;\n*) exit 1 ;;\nesac\n"
        "mkdir -p 1x2/processor0/0.008/uniform\n"
        f"cp {data}/${{series}}_two_ranks.profiling 1x2/processor0/0.008/uniform/profiling\n"
        f"cat {data}/${{series}}_two_ranks.log"
    )


# Output of libsharp, as its users have published it.
_TREE = "[n1:0:291 - context.c:759] INFO tree_info: type:LLT tree idx:0 treeID:0x0 caps:0x6 quota: ( osts:167 )"


def with_sharp(program: str) -> str:
    """The same on a network that reduces: where it is asked to and to say so, a line of libsharp that it got a tree."""
    return f"[[ ${{HCOLL_ENABLE_SHARP-}} && ${{SHARP_COLL_LOG_LEVEL-}} ]] && echo '{_TREE}'\n{program}"


def srun_of_sums() -> str:
    """Output of our own program: sums recorded over TCP or, if the network is requested, over shared memory."""
    words = "pattern --ranks-per-node=1 --iterations=20 --output=*.json allreduce --where=host --largest-bytes=1048576"
    pattern = words.replace(" ", r"\ ")
    return (
        f"[[ $* == *{pattern} ]] || exit 1\nfrom=host\n"
        f"[[ $* == *HCOLL_ENABLE_SHARP=3* && $* == *SHARP_COLL_LOG_LEVEL=3* ]] && from=network && echo '{_TREE}'\n"
        'for word; do [[ $word == --output=* ]] && into=${word#--output=}; done\n'
        f"cp {DATA}/patterns/allreduce_two_ranks/$from.json $into"
    )


def emt() -> str:
    """The result on one rank for a file ``single.json``, else that on two."""
    data = DATA / "emt"
    return (
        "[[ $1 == run ]] || exit 0\n"
        '[[ $* == "run network.json --steps=2000 --exchange=step --result="* ]] || exit 1\n'
        "result=${!#}; result=${result#--result=}\n"
        f"[[ $result == single.json ]] && ranks=one_rank; cp {data}/${{ranks:-two_ranks}}.json $result"
    )


def nvidia_smi() -> str:
    """The fields that are asked for, of the recorded GPU, by the names of its driver."""
    names = (
        "index name driver_version memory.total ecc.mode.current pcie.link.gen.max pcie.link.width.current"
        " clocks_throttle_reasons.active"
    )
    return f"""awk -F ', ' -v asked="${{1#--query-gpu=}}" -v names='{names}' '
        BEGIN {{ fields = split(asked, field, ","); n = split(names, name, " ") }}
        BEGIN {{ for (i = 1; i <= n; i++) at[name[i]] = i + 1 }}
        /^h100/ {{ for (i = 1; i <= fields; i++) printf "%s%s", $at[field[i]], i < fields ? ", " : "\\n" }}
    ' {DATA}/gpu/published.csv"""
