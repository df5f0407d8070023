#!/bin/sh
# Reports that the service of recalld is down: trouble.sh UNIT OPTIONS, where OPTIONS are those of `recalld service` for this unit.
#
# systemd starts this script with /bin/sh and says in variables why the service failed. The script needs no Python and no workspace,
# since either may be gone. The service writes it again at each start: change care.on_trouble in recalld.toml, not here.
command=@command@
folder=${0%/*}
unit=$1
code=${MONITOR_EXIT_STATUS-}
last_error=$(cat "$folder/said" 2>/dev/null)

result=${MONITOR_SERVICE_RESULT-unknown}
[ "$result" != exit-code ] || result=$code
case $result in
@reasons@
    unknown) why=${last_error:-@unknown@} ;; # before systemd 251
    success) why=@dependency@ ;;       # it was not even started
    203) why=@python@ ;;
    *[!0-9]*) why=${last_error:-$(printf @result@ "$result")} ;;
    *)
        @interpreter@ -P -c 'import recalld' >/dev/null 2>&1 && why=$last_error || why=@python@
        [ -n "$why" ] || why=$(printf @exit_code@ "$result")
        ;;
esac

sentence=$(printf @down@ "$unit" "$why" "$2")
printf '<3>recalld: %s\n' "$sentence" >&2
[ -n "$command" ] || exit 0
umask 077
find "$folder/told" -mmin +1440 -delete 2>/dev/null # the same is reported once a day
[ "$(cat "$folder/told" 2>/dev/null)" = "$sentence" ] && exit 0
export RECALLD_TROUBLE="$sentence" RECALLD_WORKSPACE=@workspace@
/bin/sh -c "$command" </dev/null >/dev/null && printf '%s\n' "$sentence" >"$folder/told"
