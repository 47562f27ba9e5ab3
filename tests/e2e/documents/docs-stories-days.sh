metricd ../board/metricd
rm app.heapcast
