# Build, then only what is needed to run: the binary, its licences, a configuration. No shell, no root.
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ARG COMMIT=unknown
RUN PORTCULLIS_COMMIT=$COMMIT cargo build --profile dist --locked \
    && mkdir -p /out/etc/portcullis/sites /out/usr/share/doc/portcullis /out/var/lib/portcullis \
    && cp conf/packages/portcullis.toml /out/etc/portcullis/ \
    && cp LICENSE conf/portcullis.toml /out/usr/share/doc/portcullis/ \
    && conf/packages/licences . --texts /out/usr/share/doc/portcullis/THIRD-PARTY.txt --sbom /out/usr/share/doc/portcullis/sbom.cdx.json

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/dist/portcullis /usr/bin/portcullis
COPY --from=build /out/etc /etc
COPY --from=build /out/usr /usr
COPY --from=build --chown=nonroot:nonroot /out/var/lib/portcullis /var/lib/portcullis
# The root may be read-only: everything that is written is here.
VOLUME /var/lib/portcullis
WORKDIR /var/lib/portcullis
# Ports below 1024 are root's in some engines.
ENV PORTCULLIS_PORT=8080
EXPOSE 8080
# SIGTERM lets requests under way finish.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s CMD ["/usr/bin/portcullis", "health"]
ENTRYPOINT ["/usr/bin/portcullis"]
CMD ["run", "--conf", "/etc/portcullis/portcullis.toml"]
