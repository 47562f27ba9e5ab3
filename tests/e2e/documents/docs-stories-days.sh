metricd ../board/metricd
