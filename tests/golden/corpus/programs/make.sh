# The workspaces that scenes begin with: `make NAME` makes one in the folder NAME.
export RECALLD_ARCHIVE_TIMEZONE=Asia/Shanghai # what `init` writes; the odd one has its own
case $1 in
demo) # the sample conversation, archived; it ends in English, since `language = "auto"` follows its end
    mkdir demo
    python - "$WORKSPACE/history.json" demo/history.json <<'PYTHON'
import json, sys

LAST = (
    "One thing more before I sleep, in English, since Jonas reads it too. Tomorrow morning at nine, remind me of the numbers of the "
    "pilot: how many gateways are flashed, how many are bricked, how many are left, and how many weeks we have. Then I call Hamburg, "
    "and ask for the second batch of ferrites, for the signed test key, and for the date on which the customs papers are sent. After "
    "lunch I write the release notes of the firmware, and in the evening I pack the knee brace, the charger and the spare cable, "
    "because on Friday I take the early train, and there is no time to look for anything. If it rains, tell me to take the tram, "
    "and not the bike. That is all for today, thank you, and good night to you as well."
)
said = json.load(open(sys.argv[1], encoding="utf-8"))
said.append({"id": "last", "role": "user", "text": LAST, "createdAt": "2026-10-28T15:43:00.000Z", "archived": False})
json.dump(said, open(sys.argv[2], "w", encoding="utf-8"), ensure_ascii=False)
PYTHON
    recalld -w demo init
    recalld -w demo run --until-settled
    printf '%s\n' '# Long-term memory' '' \
        '2026-06-20|web-chat|allergic to mango and penicillin' \
        '2026-07-03|telegram|the gateway runs heron 2.4；MQTT reconnects after 30 s' \
        '2026-09-06|system|ssh goes through WireGuard, UDP 51820 #shared' \
        '2026-10-12|web-chat|周棠不能吃榛子' >demo/memory.md
    recalld -w demo index rebuild
    ;;
odd)
    unset RECALLD_ARCHIVE_TIMEZONE
    odd odd
    recalld -w odd init
    recalld -w odd run --until-settled
    ;;
empty)
    recalld -w empty init
    ;;
esac >/dev/null
