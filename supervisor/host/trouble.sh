#!/bin/sh
# Reports that the service of recalld is down: trouble.sh UNIT OPTIONS, where OPTIONS are those of `recalld service` for this unit.
#
# It needs no Python and no workspace, since either may be gone. The service writes it again at each start: change
# care.on_trouble in recalld.toml, not here.
command=@command@
folder=${0%/*}
why=$(cat "$folder/said" 2>/dev/null)
result="${MONITOR_SERVICE_RESULT-failed} ${MONITOR_EXIT_STATUS-}"
[ "${result% *}" != success ] || result=dependency # it was not even started: the mount of its disk failed
[ -n "$why" ] || why=$(printf @result@ "${result% }")
case $2 in *--system*) its=unit ;; *) its=user-unit ;; esac
sentence=$(printf @down@ "$1" "$why" "$its" "$1")
printf '<3>recalld: %s\n' "$sentence" >&2
[ -n "$command" ] || exit 0
umask 077
find "$folder/told" -mmin +1440 -delete 2>/dev/null # the same is reported once a day
[ "$(cat "$folder/told" 2>/dev/null)" = "$sentence" ] && exit 0
export RECALLD_TROUBLE="$sentence" RECALLD_WORKSPACE=@workspace@
/bin/sh -c "$command" </dev/null >/dev/null && printf '%s\n' "$sentence" >"$folder/told"
