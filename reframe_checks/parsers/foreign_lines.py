"""Find foreign lines on a benchmark's standard output: lines of MPI, fabrics, launchers and shells.

A line is foreign if the whole line has a shape that a library documents or prints. Lines that report the end of a
program are never foreign: the parser gets them, and refuses unknown lines.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

_HOST = r"[\w.-]{1,255}"
_PID = r"[0-9]{1,10}"
_REST = r".{0,4000}"


@dataclass(frozen=True)
class Speaker:
    """A library or program, and how to silence it on standard output, for a message."""

    name: str
    remedy: str


@dataclass(frozen=True)
class Shape:
    """A line of ``speaker``; a block of lines if ``inside`` is given.

    :param line: the line, or the first one of the block.
    :param inside: every further line of the block up to its end.
    :param end: the last line of the block; without it, the block ends before the first line that is not ``inside``.
    :param needs: text that one line of the block must have.
    :param ends: the number of ``end`` lines at the end of the block.
    """

    speaker: Speaker
    line: re.Pattern[str]
    inside: re.Pattern[str] | None = None
    end: re.Pattern[str] | None = None
    needs: re.Pattern[str] | None = None
    ends: int = 1


@dataclass(frozen=True)
class ForeignLine:
    """Line ``number`` of a text, counted from 1, written by ``speaker``."""

    number: int
    speaker: Speaker
    line: str


def _shape(speaker: Speaker, line: str, inside: str = "", end: str = "", needs: str = "", ends: int = 1) -> Shape:
    of_inside, of_end, of_needs = (re.compile(part) if part else None for part in (inside, end, needs))
    return Shape(speaker, re.compile(line), of_inside, of_end, of_needs, ends)


_STDERR = "have it write to standard error"
_UCX = Speaker("UCX", "set UCX_LOG_LEVEL=fatal")
_UCC = Speaker("UCC", "set UCC_LOG_LEVEL=fatal")
_INTEL_MPI = Speaker("Intel MPI", "set I_MPI_DEBUG=0")
_OPEN_MPI = Speaker("Open MPI", "correct the setting that it names, or " + _STDERR)
_PMIX = Speaker("PMIx", "correct the setting that it names, or " + _STDERR)
_MPICH = Speaker("MPICH's launcher", _STDERR)
_CRAY_MPI = Speaker("Cray MPICH", "unset MPICH_VERSION_DISPLAY and MPICH_ENV_DISPLAY")
_OMB = Speaker("OSU Micro-Benchmarks", "start them by their script get_local_rank")
_WI4MPI = Speaker("Wi4MPI", _STDERR)
_MVAPICH = Speaker("MVAPICH", "set MV2_SHOW_ENV_INFO=0")
_FABRIC = Speaker("libfabric", "unset FI_LOG_LEVEL")
_PSM = Speaker("PSM", "unset PSM2_TRACEMASK, PSM3_TRACEMASK and PSM3_IDENTIFY")
_ONEAPI = Speaker("oneAPI's setvars.sh", "send what it prints to /dev/null")
_MKL = Speaker("MKL", "unset MKL_VERBOSE")
_OPENBLAS = Speaker("OpenBLAS", "use a build with OpenMP")
_FORTRAN = Speaker("the Fortran runtime", _STDERR)
_DARSHAN = Speaker("Darshan", "unload it")
_VERBS = Speaker("rdma-core", "install the driver that it misses, or " + _STDERR)
_SHARP = Speaker("HCOLL or SHARP", "set HCOLL_VERBOSE=0 and SHARP_COLL_LOG_LEVEL=0")
_HWLOC = Speaker("hwloc", "set HWLOC_HIDE_ERRORS=2")
_NCCL = Speaker("NCCL or RCCL", "unset NCCL_DEBUG")
_LMOD = Speaker("Lmod", "unset LMOD_REDIRECT, or load modules with `module -q`")
_MODULES = Speaker("Environment Modules", "load modules with `module -s`")
_SLURM = Speaker("Slurm", "correct the setting that it names, or " + _STDERR)
_SHELL = Speaker("the shell", "correct the setting that it names, or " + _STDERR)
_LOCALE = Speaker("the locale", "set LC_ALL=C")
_OPENMP = Speaker("OpenMP", "set KMP_WARNINGS=0, unset OMP_DISPLAY_ENV and OMP_DISPLAY_AFFINITY")
_KERNEL = Speaker("the kernel", "keep its messages off the terminal")
_NUMA = Speaker("libnuma", _STDERR)
_LOADER = Speaker("the dynamic linker", "correct LD_PRELOAD or LD_LIBRARY_PATH")
_CONTAINER = Speaker("the container's runtime", "call it with --quiet")
_SSH = Speaker("ssh", "set LogLevel ERROR in its configuration")
_FLUX = Speaker("Flux", "run with `--quiet`, or " + _STDERR)
_XALT = Speaker("XALT", "unset XALT_TRACING")
_ROCM = Speaker("ROCm", "install amdgpu.ids, or " + _STDERR)

# Open MPI (opal/util/show_help.c) and PRRTE draw 74 dashes, which no benchmark here does.
_DASHES = "-{74}"
_STARS = r"\*{60,100}"
_UCS_BEGIN = rf"\[[0-9]{{9,11}}\.[0-9]{{1,9}}\] \[{_HOST} {{0,20}}:{_PID} {{0,10}}:[\w-]{{1,20}} {{0,10}}\] "
# A list of CPUs that goes on in the next line, and names of variables like one that is not known.
_INTEL_MORE = r" {4,100}(?=[0-9-]{0,9}[,}])[0-9,-]{0,4000}\}?|\t ?I_MPI_\w{1,100}"
_HYDRA = r"mpiexec|mpirun|proxy:[0-9]{1,6}:[0-9]{1,8}|bstrap:[0-9]{1,6}:[0-9]{1,8}"
# A warning names its file; versions since 2.26 begin with the time.
_NCCL_BEGIN = rf"(?:\[[0-9: .-]{{8,40}}\] ?)?{_HOST}:{_PID}:{_PID}(?: \[[0-9-]{{1,4}}\])? (?:\S{{1,120}} )?"
_LMOD_LISTS = (
    r"The following have been reloaded with a version change"
    r"|Due to MODULEPATH changes, the following have been reloaded"
    r"|The following modules were (?:not )?unloaded|Inactive Modules|Activating Modules"
    r"|While processing the following module\(s\)"
)
# A line that is too long goes on with the second module's name.
_LMOD_LISTED = (
    r'(?:"[\w.+/-]{1,200}"\.'
    r"| {2,4}(?:[0-9]{1,4}\) |\(Use |Module (?:fullname|Filename)|-{3,100} |[\w.+/-]{1,200} {1,200}/).{0,4000})?"
)
_LMOD_ERROR = (
    r" {3}Try: \"module spider .{0,400}|Please check the spelling or version number\. .{0,200}"
    r"|It is also possible your cache file is out-of-date; .{0,200}| {2}\$ +module --ignore.cache load .{0,400}"
    r"|Also make sure that all modulefiles written in TCL start with the string.{0,100}|#%Module"
    r"|If this module depends on others you loaded, .{0,200}|then this module in a separate command\."
)
_LMOD_RESET = r'(?:Running "module reset"\. )?(?:Resetting modules to system default|Restoring modules from ).{0,4000}'
_BORDER = "-{20,300}"
_LOADED = r"(?: {1,4}[0-9]{1,4}\) .{0,400}| {2}Where:| {3}[A-Za-z*]{1,3}: {1,4}[A-Z].{0,100}|Key:|<.{1,400}>.{0,400})?"
_MODULE = r"[\w.+-]{1,100}/[\w.+/-]{1,100}"
_MODULE_MORE = (
    r" {2}(?:Loading requirement|Unloading dependent|Unloading useless requirement|WARNING|Module).{0,4000}"
    r"| {4}[\w.+-]{1,100}/[\w.+ /-]{1,400}"
)
_PERL_MORE = r"(?:perl: warning: |\t(?:LANGUAGE|LC_\w{1,20}|LANG) = |    are supported and installed).{0,4000}"
_NO_LOCALE = r"(?:can't set the locale; make sure|(?:locale: )?Cannot set LC_\w{1,20} to default locale:).{0,400}"
_NO_TERMINAL = (
    r"Warning: no access to tty \(Bad file descriptor\)\.|Thus no job control in this shell\."
    r"|stty: '?standard input'?: Inappropriate ioctl for device|tput: No value for \$TERM and no -T specified"
    r"|TERM environment variable not set\."
    r"|bash: (?:cannot set terminal process group|no job control in this shell).{0,200}"
)
_CONTAINER_WARNING = (
    r"WARNING: (?:Skipping mount|underlay of|Environment variable|group: unknown|passwd file doesn't|Could not lookup"
    r"|While bind mounting|DEPRECATED USAGE).{0,4000}"
)

# Lines that a container of NVIDIA prints when it starts.
_NVIDIA_BANNER = (
    r"CUDA Version [0-9.]{3,20}|NVIDIA Release [0-9.]{3,20}.{0,100}|Container image Copyright \(c\) .{0,200}"
    r"|This container image and its contents are governed by .{0,200}|By pulling and using the container, .{0,200}"
    r"|https://developer\.nvidia\.com/.{0,200}|A copy of this license is made available in this container .{0,200}"
    r"|Various files include modifications \(c\) .{0,200}|NOTE: CUDA Forward Compatibility mode ENABLED\."
    r"|  Using CUDA [0-9.]{3,20} driver version .{0,200}|  See https://docs\.nvidia\.com/.{0,200}"
)
_BINDING = r"Warning: Process to core binding is enabled and OMP_NUM_THREADS .{0,4000}"
_BINDING_MORE = (
    r"(?:If your program has OpenMP sections|To avoid this, please re-run|Use MV2_USE_THREAD_WARNING).{0,400}"
)

#: Sources: each library's own ``log`` functions or manual, named where they are not evident.
_SHAPES = (
    # UCS_LOG_FMT of ucs/debug/log.c; UCC and the tables of UCX_PROTO_INFO use it, too.
    _shape(_UCC, rf"{_UCS_BEGIN}{_REST} UCC  ?[A-Z_]{{4,9}} {_REST}"),
    _shape(_UCX, rf"{_UCS_BEGIN}{_REST}"),
    _shape(_UCX, rf"UCX {{1,2}}(?:WARN|ERROR|DIAG|INFO) {{1,2}}{_REST}"),
    # "I_MPI_DEBUG" of Intel MPI's developer reference; with =…,pid,host the rank is followed by both.
    _shape(
        _INTEL_MPI,
        rf"\[-?[0-9]{{1,8}}(?:#{_PID}(?::{_PID})?@{_HOST})?\] [A-Za-z_][\w ]{{0,60}}\(\): ?{_REST}",
        inside=_INTEL_MORE,
    ),
    _shape(_INTEL_MPI, rf"\[-?[0-9]{{1,8}}\] DAPL startup: {_REST}"),
    _shape(_INTEL_MPI, rf"MPI startup\(\): {_REST}", inside=_INTEL_MORE),
    _shape(_INTEL_MPI, rf"IPL WARN> {_REST}"),
    _shape(_INTEL_MPI, rf"impi_info: {_REST}"),
    _shape(_INTEL_MPI, rf"WARNING: release_mt library was used but no multi-ep feature was enabled\.{_REST}"),
    # HYDU_error_printf of MPICH and Intel MPI.
    _shape(_MPICH, rf"\[(?:{_HYDRA})@{_HOST}\] {_REST}", inside=r"kvsname=\S{1,200} key=.{0,4000}"),
    _shape(_MPICH, r"\[WARN\] yaksa: [0-9]{1,9} leaked handle pool objects"),
    # PMIX_ERROR_LOG and pmix_output, before the general line of Open MPI, which has the same beginning.
    _shape(_PMIX, rf"(?:\[{_HOST}:{_PID}\] )?PMIX ERROR: {_REST}"),
    _shape(_PMIX, rf"\[{_HOST}:{_PID}\] (?:pmix|psec|gds|ptl|bfrops|pmdl|pcompress)[\w.]{{0,60}}: {_REST}"),
    # opal_output.
    _shape(_OPEN_MPI, rf"\[{_HOST}:{_PID}\] {_REST}"),
    _shape(_OPEN_MPI, rf"\[{_HOST}\]\[\[[0-9]{{1,9}},[0-9]{{1,9}}\],[0-9]{{1,9}}\]\[\S{{1,200}}\] {_REST}"),
    _shape(_OPEN_MPI, rf"\[(?:warn|err)\] Epoll {_REST}"),
    _shape(_OPEN_MPI, rf"\[(?:prterun|prte|mpirun)-{_HOST}@[0-9]{{1,9}},[0-9]{{1,9}}\] {_REST}"),
    _shape(_OPEN_MPI, _DASHES, inside=rf"(?!#){_REST}", end=_DASHES, needs=r".*[A-Za-z].*"),
    # MPICH_VERSION_DISPLAY and MPICH_ENV_DISPLAY of Cray's intro_mpi(3).
    _shape(_CRAY_MPI, rf"MPI (?:VERSION|BUILD INFO) {{1,8}}: {_REST}"),
    _shape(_CRAY_MPI, rf"(?:PE|MPICH Rank) [0-9]{{1,8}}: {_REST}"),
    _shape(_CRAY_MPI, rf"MPICH (?:Slingshot Network Summary|Slingshot CXI Counter Summary|WARNING|NOTICE)\b{_REST}"),
    _shape(_MVAPICH, rf"\[{_HOST}:mpi_rank_[0-9]{{1,8}}\]\[\w{{1,60}}\] {_REST}"),
    _shape(
        _OMB,
        r"Warning: OMB could not identify the local rank of the process\.",
        inside=r" {9}(?:This can lead to multiple processes using the same GPU|Please use the get_local_rank) ?.{0,99}",
    ),
    _shape(_WI4MPI, rf"You are using Wi4MPI-{_REST}"),
    _shape(_MVAPICH, _BINDING, inside=_BINDING_MORE),
    _shape(_MVAPICH, rf"WARNING: Error in initializing MVAPICH2? {_REST}"),
    # fi_log of libfabric 1.x and 2.x.
    _shape(_FABRIC, rf"libfabric:{_PID}:[^ ]{{1,200}}<(?:warn|trace|info|debug)> ?{_REST}"),
    _shape(_PSM, rf"{_HOST}[.:](?:rank)?[0-9]{{1,10}}(?:[.:][\w.-]{{1,60}})?:? PSM[23]? {_REST}"),
    _shape(_PSM, rf"{_HOST}:rank[0-9]{{1,8}}[.:] ?{_REST}"),
    _shape(_VERBS, rf"(?:libibverbs|librdmacm): [Ww]arning: {_REST}"),
    _shape(_SHARP, rf"\[LOG_CAT_[A-Z0-9_]{{1,30}}\] {_REST}"),
    _shape(_SHARP, rf"\[{_HOST}:[0-9]{{1,8}}:{_PID}(?:\]\[| - )[\w.-]{{1,60}}:[0-9]{{1,6}}(?::\w{{1,60}})?\]{_REST}"),
    # report_os_error of hwloc: a box of asterisks.
    # Its plug-in for GPUs asks the X server.
    _shape(_HWLOC, r"(?:Authorization required, but no authorization protocol|No protocol) specified"),
    _shape(_HWLOC, r"Invalid MIT-MAGIC-COOKIE-1 key"),
    _shape(_HWLOC, rf"hwloc/\w{{1,20}}: {_REST}"),
    _shape(_HWLOC, _STARS, inside=rf"\*{_REST}", end=_STARS, needs=r".*hwloc.*"),
    # ncclDebugLog, also of RCCL and of plug-ins, and the version that both print.
    _shape(_NCCL, rf"{_NCCL_BEGIN}(?:NCCL|RCCL|INFO|WARN|TRACE)\b{_REST}"),
    _shape(
        _NCCL,
        r"[NR]CCL version ?:? [0-9]{1,3}\.[0-9]{1,3}[\w.+:() -]{0,120}",
        inside=rf"(?:HIP version|ROCm version|Hostname|Librccl path) {{0,8}}: {_REST}",
    ),
    # Messages of Lmod (src/MasterControl.lua, messageDir/en.lua): a line, perhaps a list, and blank lines.
    _shape(_LMOD, rf"(?:{_LMOD_LISTS}):", inside=_LMOD_LISTED),
    _shape(
        _LMOD,
        rf"Lmod (?:is automatically replacing|has detected the following (?:error|warning)|Warning:|Message:){_REST}",
        inside=rf"{_LMOD_LISTED}|{_LMOD_ERROR}",
    ),
    _shape(_LMOD, _LMOD_RESET),
    _shape(_LMOD, _BORDER, inside=_REST, end=_BORDER, needs=r"There are messages associated with the .{0,99}", ends=2),
    _shape(_LMOD, r"Currently Loaded Modules:|No modules loaded", inside=_LOADED),
    # Environment Modules 4 and 5.
    _shape(_MODULES, r"Currently Loaded Modulefiles:|No Modulefiles Currently Loaded\.", inside=_LOADED),
    _shape(
        _MODULES,
        rf"(?:(?:Loading|Unloading|Refreshing|Reloading) {_MODULE}|Switching from {_MODULE} to {_MODULE})",
        inside=_MODULE_MORE,
    ),
    # Modulefiles of oneAPI.
    _shape(_MODULES, r"(?:Loading|Unloading|Removing) [\w.+-]{1,100} version [0-9][\w.+-]{0,40}"),
    _shape(_SLURM, rf"(?:cpu|mem)[-_]bind(?:[-_]\w{{1,20}})?=[A-Z_]{{1,20}} {{1,4}}- {_HOST}, task {_REST}"),
    _shape(_SLURM, rf"(?:srun|slurmstepd(?:-[\w.-]{{1,100}})?|sbatch|salloc): {_REST}"),
    # attach.c of flux-core. An exception ends the job.
    _shape(_FLUX, rf"(?:[0-9]{{1,7}}\.[0-9]{{3}}s: )?flux-shell(?:\[[0-9]{{1,8}}\])?: {_REST}"),
    _shape(_FLUX, rf"[0-9]{{1,7}}\.[0-9]{{3}}s: (?:job|exec|shell)\.(?!exception){_REST}"),
    # xalt_initialize.c with XALT_TRACING=yes.
    _shape(_XALT, "-{45}", inside=r" [A-Z][\w. ]{3,20}: .{0,400}", end="-{45}", needs=r" XALT Version: .{0,400}"),
    _shape(_XALT, r"my(?:init|fini)\([0-9]{1,9}/[0-9]{1,9},.{1,4000}\)\{", inside=r"(?: {2,8}.{1,4000})?", end=r"\}"),
    # bash, whatever the shell or the script is called.
    _shape(_LOCALE, rf"[\w./-]{{1,300}}: (?:line [0-9]{{1,9}}: )?warning: setlocale: {_REST}"),
    _shape(_LOCALE, rf"perl: warning: {_REST}", inside=_PERL_MORE),
    _shape(_LOCALE, rf"(?:[\w./-]{{1,300}}: )?{_NO_LOCALE}"),
    _shape(_SHELL, _NO_TERMINAL),
    _shape(_LOADER, rf"ERROR: ld\.so: object {_REST}: ignored\."),
    _shape(_LOADER, rf"[\w./-]{{1,300}}: [\w./+-]{{1,300}}: no version information available \(required by {_REST}"),
    # The runtime of LLVM and Intel, whose affinity format begins in the same way, and GNU's.
    _shape(_OPENMP, rf"OMP: (?:Warning|Info|Hint|pid)\b{_REST}"),
    _shape(_OPENMP, rf"libgomp: {_REST}"),
    _shape(
        _OPENMP,
        r"OPENMP DISPLAY ENVIRONMENT BEGIN",
        inside=r" {1,4}\S.{0,4000}",
        end="OPENMP DISPLAY ENVIRONMENT END",
    ),
    _shape(_KERNEL, rf"\[ {{0,8}}[0-9]{{1,8}}\.[0-9]{{6}}\] {_REST}"),
    _shape(_NUMA, rf"libnuma: [Ww]arning: {_REST}"),
    _shape(_CONTAINER, rf"INFO: {{4}}{_REST}"),
    _shape(_CONTAINER, _CONTAINER_WARNING),
    _shape(_CONTAINER, rf"pyxis: {_REST}"),
    _shape(_CONTAINER, "={6,40}", inside=r"== .{1,60} ==", end="={6,40}", needs=r"== .{1,60} =="),
    _shape(_CONTAINER, _NVIDIA_BANNER),
    _shape(_ONEAPI, r":: .{1,200}", inside=r" {3}(?:[\w./-]{1,300}: BASH_VERSION = |args: Using ).{0,400}"),
    _shape(_MKL, rf"(?:MKL_VERBOSE|(?:Intel|oneAPI|Intel oneAPI) M?KL WARNING:) {_REST}"),
    _shape(_OPENBLAS, rf"OpenBLAS (?:[Ww]arning|WARNING) ?[:-] {_REST}"),
    _shape(_FORTRAN, rf"Note: The following floating-point exceptions are signalling: {_REST}"),
    _shape(_DARSHAN, rf"darshan(?:_library_warning|-runtime)?: {_REST}"),
    _shape(_SSH, rf"Warning: Permanently added {_REST} to the list of known hosts\."),
    _shape(_SSH, r"/usr/bin/xauth: {1,2}file \S{1,300} does not exist"),
    _shape(_ROCM, r"\S{1,300}/amdgpu\.ids: No such file or directory"),
)

SPEAKERS = tuple(dict.fromkeys(shape.speaker for shape in _SHAPES))

# Most lines have no shape of these.
_ANY = re.compile("|".join(shape.line.pattern for shape in _SHAPES))

# A program was ended, or MPI gave up: nothing that a note suffices for.
_ENDED = re.compile(
    r"(?i)\*\*\* |\bcancelled\b|\bkilled\b|\boom[-_ ]?kill|out of memory|exited (?:with|on)|exit code|a non-zero exit"
    r"|\babort(?:ed|ing)\b|\bterminat(?:ed|ing|ion)\b|segmentation fault|bus error|(?:caught|received) signal|\bfatal\b"
    r"|signal:"
)
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?(?:e[+-][0-9]{2,3})?")
# Figures of a table that ran into the end of a foreign line: decimals, or three whole numbers, in columns of their own.
_GLUED = re.compile(r".*[^ ] {2,}-?[0-9]{1,18}(?:\.[0-9]{1,20}(?:e[+-][0-9]{2,3})?|(?: {2,}[0-9]{1,18}){2,}) {0,8}")
#: Longer than any banner of help.
_MOST_LINES = 60


def foreign_lines(lines: Sequence[str]) -> list[ForeignLine]:
    """Return the lines of other programs among ``lines``, in order."""
    found: list[ForeignLine] = []
    at = 0
    while at < len(lines):
        speaker, after = _spoken(lines, at)
        if speaker:
            # Lmod prints a blank line before its message.
            if speaker is _LMOD and at and not lines[at - 1].strip() and at not in {line.number for line in found[-1:]}:
                found.append(ForeignLine(at, speaker, lines[at - 1]))
            found += [ForeignLine(number + 1, speaker, lines[number]) for number in range(at, after)]
        at = max(after, at + 1)
    return found


def cuts_table(lines: Sequence[str], foreign: Sequence[ForeignLine]) -> ForeignLine | None:
    """Return the first foreign line between two rows of figures with as many columns.

    Blank lines count as lines of the other program.
    """
    aside = {line.number for line in foreign}
    own = [number for number, line in enumerate(lines, start=1) if number not in aside and line.strip()]
    for line in (line for line in foreign if line.line.strip()):
        place = bisect(own, line.number)
        if 0 < place < len(own):
            upper, lower = (lines[own[at] - 1].split() for at in (place - 1, place))
            if len(upper) == len(lower) and _is_row(upper) and _is_row(lower):
                return line
    return None


def lines_by_speaker(text: str) -> dict[Speaker, list[str]]:
    """Return the foreign lines of ``text``: speaker -> lines, without rules and blank lines of a banner."""
    told: dict[Speaker, list[str]] = {}
    for line in foreign_lines(text.split("\n")):
        if line.line.strip(" -*"):
            told.setdefault(line.speaker, []).append(line.line)
    return told


def _spoken(lines: Sequence[str], at: int) -> tuple[Speaker | None, int]:
    """Return the speaker of line ``at`` (an index), and the index after its lines."""
    if not _ANY.fullmatch(lines[at]):
        return None, at
    for shape in _SHAPES:
        if shape.line.fullmatch(lines[at]):
            after = _end_of(shape, lines, at)
            if after and not any(_ENDED.search(said) or _GLUED.fullmatch(said) for said in lines[at:after]):
                return shape.speaker, after
    return None, at


def _end_of(shape: Shape, lines: Sequence[str], at: int) -> int:
    """Return the index after the block that begins on line ``at``; 0 if the block is not complete."""
    if shape.inside is None:
        return at + 1
    most = min(len(lines), at + _MOST_LINES)
    ends = 0
    for after in range(at + 1, most):
        line = lines[after]
        if shape.end and shape.end.fullmatch(line):
            ends += 1
            if ends < shape.ends:
                continue
            whole = not shape.needs or any(map(shape.needs.fullmatch, lines[at:after]))
            return after + 1 if whole else 0
        if not shape.inside.fullmatch(line) or _is_row(line.split()):
            return 0 if shape.end else after
    return 0 if shape.end else most


def _is_row(tokens: Sequence[str]) -> bool:
    """Tell whether the tokens look like a row of a table: at least two figures, and no more words than figures."""
    figures = sum(1 for token in tokens if _NUMBER.fullmatch(token))
    return figures >= 2 and 2 * figures >= len(tokens) and tokens[0] != "#"
