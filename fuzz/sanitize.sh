#!/bin/sh
# Builds the extension with AddressSanitizer, UndefinedBehaviorSanitizer and counted edges into a folder, and runs a command
# with that build in place of the installed one:  fuzz/sanitize.sh python fuzz/engine.py decoder --seconds 60
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
built=${TFADVISOR_FUZZ_BUILD:-$root/build/fuzz}
python=$1
if [ ! -e "$built/done" ] || [ -n "$(find "$root/tfadvisor/trace" -name '_wire.pyx' -newer "$built/done" -o -name '*.pxi' -newer "$built/done")" ]; then
  rm -rf "$built" && mkdir -p "$built"
  ${CC:-gcc} -shared -fPIC -O2 -o "$built/edges.so" "$root/fuzz/edges.c"
  cp -r "$root/tfadvisor" "$root/rules" "$built/"
  find "$built/tfadvisor" -name '_wire*.so' -delete
  (cd "$built" && "$python" -c "from Cython.Build.Cythonize import main; main(['-3', 'tfadvisor/trace/_wire.pyx'])" >build.log)
  # shellcheck disable=SC2046
  ${CC:-gcc} -shared -fPIC -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -fno-sanitize=signed-integer-overflow -fsanitize-coverage=trace-pc -w \
    -I"$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
    -o "$built/tfadvisor/trace/_wire$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')" \
    "$built/tfadvisor/trace/_wire.c"
  ln -sfn "$built/rules" "$built/tfadvisor/rules"
  touch "$built/done"
fi
# Leaks of an interpreter that ends at once are none. Python keeps its own allocator, which is three times faster: what the
# decoder reads lies in a block of malloc's, and what it writes in arrays of NumPy's, which are malloc's too.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=32 UBSAN_OPTIONS=print_stacktrace=1
export TFADVISOR_FUZZ_EDGES=1 PYTHONPATH="$built${PYTHONPATH:+:$PYTHONPATH}"
export LD_PRELOAD="$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} -print-file-name=libubsan.so) $built/edges.so"
exec "$@"
