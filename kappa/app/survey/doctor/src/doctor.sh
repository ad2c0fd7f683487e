#!/bin/bash
# Print what a machine sees and can do in the folders of the site's jobs. kappa/app/survey/doctor/nodes.py reads it.
# usage: bash -c KILLABLE+SCRIPT doctor TOKEN JOB NODES FOLDER...
#   JOB: a name that no other job has at the same time; NODES: the number of its nodes;
#   FOLDER: KIND|PATH. `work` is made by the login node, with the file `login` and the program `run`. In `parallel`, all
#   nodes must see the same files. In `own` and `any` they need not.
# First it prints `ready`, and answers each line on standard input with its clock, until `end`.
# It writes small files into these folders and removes them. It needs no root.
# shellcheck disable=SC2317  # killable and the trap call the functions
export LC_ALL=C
token=$1 job=$2 nodes=$3
shift 3
host=${SLURMD_NODENAME:-$(hostname)}
place_in() { printf '%s/kappa-doctor-%s-%s' "$1" "$token" "$job"; }
own() { [ -O "$1" ] && [ ! -L "$1" ]; }
clean_up() {
  own "$1" || return
  rm -f "$1/node-$host" "$1/looked-$host" 2>/dev/null
  rmdir "$1" 2>/dev/null
}
# The login node removes the work folders.
clean_all_up() {
  local folder
  for folder in "$@"; do
    case $folder in work\|*) ;; *) clean_up "$(place_in "${folder#*|}")" ;; esac
  done
}

number=-1
tell() { printf 'folder|%s|%s|%s\n' "$number" "$1" "$2"; }

# Count the files in a folder by the beginning of their names. A change by this client makes NFS read the folder again.
count() {
  local files
  : >"$1/.look-$host" && rm -f "$1/.look-$host"
  files=("$1/$2"-*)
  if [ -e "${files[0]}" ]; then echo "${#files[@]}"; else echo 0; fi
}

write_and_look() {
  local place=$1 patience=$2 problem end
  if ! problem=$({ printf '%s %s\n' "$token" "$host" >"$place/node-$host"; } 2>&1); then
    tell writes "$problem"
    return
  fi
  tell writes yes
  tell owner "$(stat -c '%u:%g' "$place/node-$host")"
  end=$((SECONDS + patience))
  while [ "$(count "$place" node)" -lt "$nodes" ] && [ "$SECONDS" -lt "$end" ]; do sleep 0.2; done
  tell sees "$(count "$place" node)"
  : >"$place/looked-$host"
  # Keep the file until all nodes have looked, or a node has gone.
  while [ "$(count "$place" node)" -ge "$nodes" ] && [ "$(count "$place" looked)" -lt "$nodes" ] &&
    [ "$SECONDS" -lt "$end" ]; do sleep 0.1; done
}

quota_of() {
  local type=$1 point=$2
  if [ "$type" = lustre ]; then
    if command -v lfs >/dev/null 2>&1; then
      tell quota "$(timeout 20 lfs quota -q -u "$(id -un)" "$point" 2>&1 | tr '\n' ' ')"
    fi
  elif command -v quota >/dev/null 2>&1; then
    tell quota "$(timeout 20 quota -w -p -f "$point" 2>&1 | tr '\n' ' ')"
  fi
}

tell_all() {
  printf 'node|%s\n' "$host"
  echo ready
  while read -r -t 60 beat && [ "$beat" != end ]; do
    printf 'clock|%s|%s\n' "$beat" "$(date +%s.%N)"
  done
  printf 'user|%s|%s|%s\n' "$(id -u)" "$(id -g)" "$(id -un)"
  for folder in "$@"; do
    number=$((number + 1))
    kind=${folder%%|*} path=${folder#*|}
    tell kind "$kind"
    if [ ! -d "$path" ]; then
      tell there no
      continue
    fi
    tell there yes
    mount=$(findmnt --noheadings --raw --output FSTYPE,SOURCE,TARGET,OPTIONS --target "$path" 2>/dev/null | tail -n 1)
    tell mount "${mount:-$(stat -f -c %T -- "$path")}"
    tell space "$(stat -f -c '%S %b %a %c %d' -- "$path")"
    read -r type _ point _ <<<"$mount"
    quota_of "$type" "$(printf '%b' "$point")"
    case $kind in
      work)
        tell token "$(head -c 200 "$path/login" 2>&1 | head -n 1)"
        tell runs "$("$path/run" 2>&1 | head -n 1)"
        write_and_look "$path" 0
        ;;
      *)
        place=$(place_in "$path")
        # Another node may have made it, or another user.
        problem=$(mkdir -m 0700 "$place" 2>&1) || own "$place" || {
          tell writes "$problem"
          continue
        }
        [ "$kind" = parallel ] && patience=20 || patience=1
        write_and_look "$place" "$patience"
        clean_up "$place"
        ;;
    esac
  done
  echo 'end|'
}

# A file system that does not answer blocks a program for long. After a normal end, other nodes may still use the folders.
trap 'clean_all_up "$@"' EXIT
killable tell_all "$@"
status=$?
trap - EXIT
exit "$status"
