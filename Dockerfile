# Build, then only what is needed to run: the binary, the rules, the configuration.
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --profile dist --locked

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --uid 10001 portcullis \
    && install -d -o portcullis -g portcullis /var/lib/portcullis
COPY --from=build /src/target/dist/portcullis /usr/local/bin/portcullis
COPY rules /usr/share/portcullis/rules
COPY conf /etc/portcullis
# `state_dir` is beside the configuration, which the user may not write.
RUN ln -s /var/lib/portcullis /etc/portcullis/state
USER portcullis
WORKDIR /var/lib/portcullis
VOLUME /var/lib/portcullis
EXPOSE 8080
# SIGTERM drains: requests under way finish.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=2s CMD ["curl", "-fsS", "http://127.0.0.1:9180/health/ready"]
ENTRYPOINT ["portcullis"]
CMD ["run", "--conf", "/etc/portcullis/portcullis.toml"]
